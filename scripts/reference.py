#!/usr/bin/env python3
"""The reference pages of the documents, made from the code: `python scripts/reference.py` writes them anew.

They are kept with the documents, so that they can be read without building anything; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from fastapi.openapi.utils import get_openapi
from typer.main import get_command

from catchment.cli.main import app
from catchment.domain.alert_rules import AlertRule
from catchment.settings import INTERVAL_PREFIX, Settings, specs
from catchment.sources.base import Parts
from catchment.sources.registry import Registry
from catchment.web.app import _ROUTERS

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
MADE = "This page is made from the code, by `make reference`.\n"


def pages() -> dict[str, str]:
    return {
        "settings.md": settings(),
        "commands.md": commands(),
        "api.md": api(),
        "types.md": types(),
        "alerts.md": alerts(),
    }


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def settings() -> str:
    lead = "Where they come from: [settings](../guides/settings.md). Those marked with * may come from a file."
    rows = (
        [", ".join(f"`{name}`" for name in spec.names) + ("*" if spec.secret else ""), shown(field, default), spec.help]
        for field, spec, default in specs()
    )
    kinds = (
        f"`{INTERVAL_PREFIX}<TYPE>` are the minutes between two visits to sources of a type"
        " ([source types](types.md)).\n`COOKIE_KEY_<NAME>`* is the passphrase of an earlier key for cookies"
        " ([cookies](../guides/cookies.md)).\n"
    )
    return f"# All settings\n\n{MADE}{lead}\n\n{table(['variable', 'default', 'what it is for'], rows)}\n{kinds}"


def shown(field: str, default: object) -> str:
    if field == "home":
        return "the platform's user data folder"
    if isinstance(default, bool):
        return str(default).lower()
    return (f"{default:g}" if isinstance(default, float) else str(default)) or "(none)"


def commands() -> str:
    lead = "Each has `--help`. Exit codes: [signals and exit codes](../guides/running.md#signals-and-exit-codes)."
    return f"# All commands\n\n{MADE}{lead}\n\n" + "\n".join(_command(get_command(app), "catchment"))


def _command(command: Any, words: str) -> Iterator[str]:
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            found = command.get_command(None, name)
            if not found.hidden:
                yield from _command(found, f"{words} {name}")
        return
    rows = [[_option(parameter), _help(parameter)] for parameter in command.params if not _is_hidden(parameter)]
    yield f"## {words}\n\n{_as_text(command.help or '')}\n" + (f"\n{table(['', ''], rows)}" if rows else "")


def _is_hidden(parameter: Any) -> bool:
    return bool(getattr(parameter, "hidden", False))


def _option(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _help(parameter: Any) -> str:
    return re.sub(r"(?<!`)<(\w+)>(?!`)", r"`<\1>`", getattr(parameter, "help", None) or "")


def _as_text(text: str) -> str:
    """A docstring's paragraphs; its example as code."""
    text = re.sub(r"<(\w+)>", r"`<\1>`", text.strip())
    return re.sub(r"^Example: (.+)$", r"```sh\n\1\n```", text, flags=re.MULTILINE)


def api() -> str:
    routes = [route for router in _ROUTERS for route in router.routes]
    description = get_openapi(title="Catchment", version="", routes=routes)
    by_tag: dict[str, list[list[str]]] = {}
    for path, operations in description["paths"].items():
        for method, one in operations.items():
            tag = next(iter(one.get("tags", [])), "") or path.split("/")[1 + path.startswith("/api/")]
            by_tag.setdefault(tag, []).append([f"`{method.upper()} {path}`", _first_line(one)])
    lead = "`/openapi.json` of a running Catchment has every field and every answer."
    parts = (f"## {tag}\n\n{table(['address', 'what it does'], rows)}" for tag, rows in sorted(by_tag.items()))
    return f"# All addresses of the API\n\n{MADE}{lead}\n\n" + "\n".join(parts)


def _first_line(operation: Mapping[str, Any]) -> str:
    said = (operation.get("description") or operation.get("summary") or "").strip()
    return re.sub(r"([<{])", r"\\\1", " ".join(said.partition("\n\n")[0].split()))


def types() -> str:
    registry = Registry(parts=Parts(settings=Settings()))
    rows = ([f"`{name}`", *_facts(registry, name)] for name in registry)
    lead = (
        "What each takes and gives: [sources](../sources.md). One of your own: [plug-ins](../plugins.md).\n"
        "All of them take [the options of a source](../guides/schedules.md#options-of-a-source) as well.\n"
        "`twitter_bookmarks` is known and skipped: nothing fetches it."
    )
    head = ["type", "what people call it", "in Chinese", "minutes", "its config", "needs"]
    return f"# All source types\n\n{MADE}{lead}\n\n{table(head, rows)}"


def _facts(registry: Registry, name: str) -> Iterator[str]:
    yield registry.display_name(name)
    yield registry.display_name(name, "zh")
    yield str(registry.default_minutes(name))
    yield ", ".join(f"`{key}`" for key in sorted(registry.config_keys(name) or ()))
    key = registry.needed_key(name)
    yield f"`{key}`" if key else ""


def alerts() -> str:
    rows = (
        [
            f"[`{rule}`](../{rule.runbook.removeprefix('docs/')})",
            rule.english,
            rule.chinese,
            *_meaning(rule),
            *_terms(rule),
        ]
        for rule in AlertRule
    )
    lead = "Whom they are told: [alerts](../guides/notices.md#alerts). Each leads to its runbook."
    head = ["alert", "what it is called", "in Chinese", "severity", "when", "fires after", "told again after"]
    return f"# All alerts\n\n{MADE}{lead}\n\n{table(head, rows)}"


def _meaning(rule: AlertRule) -> tuple[str, str]:
    """How severe it is, and the first sentence about it, as its runbook has them."""
    runbook = (ROOT / rule.runbook).read_text("utf-8")
    said = " ".join(runbook.split("## What it means")[1].split("##")[0].split())
    severities = ", ".join(dict.fromkeys(re.findall(r"\bP[0-3]\b", said)))
    about = said if said.startswith(f"{severities[:2]} for") else said.partition(". ")[2]
    return severities, about.partition(". ")[0].rstrip(".") + "."


def _terms(rule: AlertRule) -> Iterator[str]:
    yield _minutes(rule.terms.lasting) if rule.terms.lasting else "at once"
    yield _minutes(rule.terms.cool_down)


def _minutes(time: timedelta) -> str:
    for unit, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min")):
        if time >= unit:
            number = time // unit
            return f"{number} {name}" + ("s" if name == "day" and number > 1 else "")
    return f"{time.total_seconds():g} s"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
