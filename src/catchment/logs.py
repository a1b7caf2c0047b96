"""Logs: sentences for people or JSON for machines, on stderr, with secrets struck out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from loguru import logger

from catchment.redact import redact_text

if TYPE_CHECKING:
    from loguru import Message, Record

_TEXT = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <8} {message}"


def set_up_logs(*, level: str, form: str) -> None:
    logger.remove()
    logger.configure(patcher=_redact)
    if form == "json":
        logger.add(_write_json, level=level, format="{message}", diagnose=False)
    else:
        logger.add(_write_text, level=level, format=_TEXT, diagnose=False)


def _redact(record: Record) -> None:
    record["message"] = redact_text(record["message"])


def _write_text(message: Message) -> None:
    # Once more over the whole: a traceback comes after the message, and quotes what was raised.
    sys.stderr.write(redact_text(str(message)))


def _write_json(message: Message) -> None:
    record = message.record
    line = {
        "time": record["time"].isoformat(),
        "level": record["level"].name,
        "message": record["message"],
        "where": f"{record['name']}:{record['line']}",
        **{key: str(value) for key, value in record["extra"].items()},
    }
    if record["exception"] is not None:
        line["exception"] = redact_text(str(message).strip())
    sys.stderr.write(json.dumps(line, ensure_ascii=False) + "\n")
