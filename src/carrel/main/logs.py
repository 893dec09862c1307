"""Logs on stderr, as JSON lines or as text. Credentials and ids of messaging channels are left out."""

import logging
import os
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import msgspec

from carrel.chats import hide_transport_ids
from carrel.kernel import iso, redact
from carrel.kernel.settings import AuditSettings, LogSettings
from carrel.main.terminal_text import terminal_json, terminal_text

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
    # uvicorn reports as errors a WebSocket refused with a response, and a stream cut off, which is logged separately.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.msg not in _NOT_ERRORS)


def set_up_audit(settings: AuditSettings, data_dir: Path) -> None:
    """Write who changed what to files of their own in the data directory, or nowhere."""
    audit = logging.getLogger("carrel.audit")
    audit.propagate = False
    audit.handlers[:] = []
    audit.setLevel(logging.INFO if settings.enabled else logging.CRITICAL)
    if settings.enabled:
        handler = _PrivateFiles(data_dir / "audit.log", maxBytes=settings.max_bytes, backupCount=settings.keep)
        handler.setFormatter(_JsonLines())
        audit.addHandler(handler)


class _PrivateFiles(RotatingFileHandler):
    """Files that only their owner can read, from the first byte on."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    named = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if record.exc_info and record.exc_info[0] is not None:
        named["error"] = logging.Formatter().formatException(record.exc_info)
    return named


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"ts": iso(int(record.created * 1000)), "level": record.levelname.lower(), "event": record.getMessage()}
        return _safe(terminal_json(msgspec.json.encode(line | _fields(record), enc_hook=str).decode()))


def _safe(line: str) -> str:
    """Return a line without credentials and without ids of people and chats on messaging channels."""
    return hide_transport_ids(redact(line))


class _TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        line = f"{iso(int(record.created * 1000))} {record.levelname.lower():7} {record.getMessage()} {more}"
        return _safe(terminal_text(line.rstrip()))
