"""What MkDocs asks us while it makes the site: which pages there are, in what order, and where their links lead.

A page that is new needs no entry anywhere: at the top of `docs/` it is a guide unless it is named below.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
#: Pages that are written outside of the folder, and what they are called in the site.
FROM_OUTSIDE = {"README.md": "index.md", "README.zh.md": "zh.md", "CHANGELOG.md": "changelog.md"}
DECISIONS = "decisions/index.md"
FIRST_GUIDES = ["operations.md", "deploy.md"]
REFERENCE = ["sources.md", "resolving.md", "crawler-api.md", "api.md"]
EXPLANATION = ["architecture.md", "reliability.md", "scale.md", "map.md", "requirements.md"]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation()
    return config


def navigation() -> list[object]:
    placed = {"tutorial.md", *FIRST_GUIDES, *REFERENCE, *EXPLANATION}
    others = [name for name in _in("") if name not in placed]
    return [
        {"Catchment": "index.md"},
        {"中文说明": "zh.md"},
        "tutorial.md",
        {"Guides": [*FIRST_GUIDES, *_in("guides"), *others]},
        {
            "Reference": [
                *_in("reference"),
                *_there(REFERENCE),
                {"Runbooks": _in("runbooks")},
                {"处理手册": _in("runbooks/zh")},
            ]
        },
        {"Explanation": [*_there(EXPLANATION), {"Decisions": [DECISIONS, *_in("decisions")]}, "changelog.md"]},
    ]


def _in(folder: str) -> list[str]:
    return sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md"))


def _there(names: list[str]) -> list[str]:
    return [name for name in names if (DOCS / name).is_file()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for written, name in FROM_OUTSIDE.items():
        text = with_links(_read(written), "", lambda link: link.removeprefix("docs/"))
        files.append(File.generated(config, name, content=text))
    decided = "".join(f"- [{_title(name)}]({Path(name).name})\n" for name in _in("decisions"))
    files.append(File.generated(config, DECISIONS, content=f"# Decisions\n\n{decided}"))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    return with_links(markdown, posixpath.dirname(page.file.src_uri))


def with_links(markdown: str, folder: str, moved: object = None) -> str:
    """The text with its links as they are in the site; what is not part of it stays as its words alone."""

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if callable(moved):
            target = moved(target)
        to = address_in_site(target, folder)
        return f"{words}({to})" if to else words[1:-1]

    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in FENCE.split(markdown))


def address_in_site(target: str, folder: str) -> str:
    """Where a link of a page in this folder leads in the site; "" where that is not part of it."""
    if re.match(r"[a-z]+:|#", target):
        return target
    file, _, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(folder, file))
    if place == "decisions":
        return posixpath.relpath(DECISIONS, folder or ".")
    outside = place.removeprefix("../")
    if outside in FROM_OUTSIDE:
        return posixpath.relpath(FROM_OUTSIDE[outside], folder or ".") + (f"#{anchor}" if anchor else "")
    return "" if place.startswith("../") or not _is_in_site(place) else target


def _is_in_site(place: str) -> bool:
    return (DOCS / place).exists() or place in {*FROM_OUTSIDE.values(), DECISIONS} or not (ROOT / place).exists()


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _title(name: str) -> str:
    return _read(f"docs/{name}").partition("\n")[0].lstrip("# ")
