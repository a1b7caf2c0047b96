"""Logs: sentences for people or JSON for machines, on stderr, with secrets struck out."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from loguru import logger

from catchment.redact import MASK, is_secret_name, redact_text

if TYPE_CHECKING:
    from loguru import Message, Record

#: What begins a line or steers a terminal; a tab does neither.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_TEXT = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <8} {message}"


def set_up_logs(*, level: str, form: str) -> None:
    logger.remove()
    if form == "json":
        logger.add(_write_json, level=level, format="{message}", diagnose=False)
    else:
        logger.add(_write_text, level=level, format=line_of(_TEXT), diagnose=False)


def retell(library: str, *, speaker: str) -> None:
    """What a library says by Python's own logging, as lines of ours: aloud only what breaks."""
    of_library = logging.getLogger(library)
    of_library.handlers = [_Retelling(speaker)]
    of_library.propagate = False


class _Retelling(logging.Handler):
    def __init__(self, speaker: str) -> None:
        super().__init__()
        self._speaker = speaker

    def emit(self, record: logging.LogRecord) -> None:
        level = "ERROR" if record.levelno >= logging.ERROR else "DEBUG"
        logger.opt(exception=record.exc_info).log(level, "{}: {}", self._speaker, record.getMessage())


def line_of(text: str) -> Callable[[Record], str]:
    """The format of a line, which ends with the id of the request that it belongs to: one search finds them all."""

    def line(record: Record) -> str:
        request_id = " [{extra[request_id]}]" if "request_id" in record["extra"] else ""
        return f"{text}{request_id}\n{{exception}}"

    return line


def on_one_line(text: str) -> str:
    """With what controls escaped: paths and titles are strangers' words, and must not pass for lines of ours."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def marked(request_id: str) -> AbstractContextManager[None]:
    """Within it every line belongs to this request."""
    return logger.contextualize(request_id=request_id)


def _write_text(message: Message) -> None:
    text, said = str(message), message.record["message"]
    if _CONTROL.search(said):
        # Secrets go first: an escaped line break would hide where a name begins.
        text = text.replace(said, on_one_line(redact_text(said)), 1)
    # Over the whole: a traceback comes after the message, and quotes what was raised.
    sys.stderr.write(redact_text(text))


def _write_json(message: Message) -> None:
    record = message.record
    line = {
        "time": record["time"].isoformat(),
        "level": record["level"].name,
        "message": redact_text(record["message"]),
        "where": f"{record['name']}:{record['line']}",
        **{key: _context(key, value) for key, value in record["extra"].items()},
    }
    if record["exception"] is not None:
        line["exception"] = redact_text(str(message).strip())
    sys.stderr.write(json.dumps(line, ensure_ascii=False) + "\n")


def _context(name: str, value: object) -> object:
    if isinstance(value, int | float):
        return value
    return MASK if is_secret_name(name) else redact_text(str(value))
