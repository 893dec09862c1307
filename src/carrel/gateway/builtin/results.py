"""A tool's result in plain words: its fields, its error, the first few rows of its lists."""

import json
from typing import Any

from carrel.gateway.builtin.view import Result
from carrel.kernel import clip

ROWS_SHOWN_MAX = 5
FIELDS_SHOWN_MAX = 12
VALUE_CHARS_MAX = 160
TEXT_CHARS_MAX = 600
_TITLES = ("title", "name", "label", "displayName", "content", "text", "summary")
_NAMES = ("id", "key", "sessionKey", "slug")


def describe(result: Result) -> str:
    """Return a result as text for a person."""
    try:
        parsed = json.loads(result.output)
    except (ValueError, RecursionError):
        return f"{result.tool} returned: {clip(result.output.strip(), TEXT_CHARS_MAX) or 'nothing'}"
    if not isinstance(parsed, dict):
        return f"{result.tool} returned: {clip(_value(parsed), TEXT_CHARS_MAX)}"
    error = parsed.get("error")
    if parsed.get("ok") is False or error:
        return f"{result.tool} failed: {_reason(error)}"
    lists = [(name, rows) for name, rows in parsed.items() if isinstance(rows, list)]
    objects = [(name, row) for name, row in parsed.items() if isinstance(row, dict)]
    plain = [(name, row) for name, row in parsed.items() if not isinstance(row, list | dict) and row is not None]
    lines = [f"- {name}: {_row(row)}" for name, row in objects]
    for name, rows in lists:
        lines.append(f"- {name}: {len(rows) or 'none'}")
        lines.extend(f"  - {_row(row)}" for row in rows[:ROWS_SHOWN_MAX])
        if len(rows) > ROWS_SHOWN_MAX:
            lines.append(f"  - and {len(rows) - ROWS_SHOWN_MAX} more")
    lines.extend(f"- {name}: {_value(value)}" for name, value in plain[:FIELDS_SHOWN_MAX])
    return "\n".join([f"{result.tool} returned:" if lines else f"{result.tool} succeeded.", *lines])


def _reason(error: Any) -> str:
    if isinstance(error, dict):
        code = f" ({error['code']})" if error.get("code") else ""
        return f"{_value(error.get('message') or 'no reason given')}{code}"
    return _value(error or "no reason given")


def _row(row: Any) -> str:
    if not isinstance(row, dict):
        return _value(row)
    name = next((row[key] for key in _NAMES if isinstance(row.get(key), str)), "")
    title = next((row[key] for key in _TITLES if isinstance(row.get(key), str)), "")
    status = next((row[key] for key in ("status", "state") if isinstance(row.get(key), str)), "")
    words = " ".join(_value(word) for word in (name, title) if word)
    return f"{words} [{status}]" if status and words else words or _value(row)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(" ".join(text.split()), VALUE_CHARS_MAX)
