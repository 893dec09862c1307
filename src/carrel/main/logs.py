"""Logs on stderr, as JSON lines or as text. Anything that looks like a credential is redacted."""

import logging
import sys
from typing import Any

import msgspec

from carrel.kernel import iso, redact
from carrel.kernel.settings import LogSettings

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_NOT_ERRORS = tuple(f"ASGI callable returned without completing {what}." for what in ("handshake", "response"))


def set_up_logs(settings: LogSettings) -> None:
    """Send all log records to stderr in the configured format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if settings.format == "json" else _TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level.upper())
    for noisy in ("httpx", "httpcore", "uvicorn.access", "websockets"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_error)


def _is_error(record: logging.LogRecord) -> bool:
    """Drop what uvicorn reports as an error but is intended.

    That is a WebSocket refused with a response, and a stream that was cut off, which is logged separately.
    """
    return record.msg not in _NOT_ERRORS


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    named = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if record.exc_info and record.exc_info[0] is not None:
        named["error"] = logging.Formatter().formatException(record.exc_info)
    return named


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"ts": iso(int(record.created * 1000)), "level": record.levelname.lower(), "event": record.getMessage()}
        return redact(msgspec.json.encode(line | _fields(record), enc_hook=str).decode())


class _TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        return redact(
            f"{iso(int(record.created * 1000))} {record.levelname.lower():7} {record.getMessage()} {more}".rstrip()
        )
