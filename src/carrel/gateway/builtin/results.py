"""A tool's result in plain words: what it gave, what it refused, the first few of what it lists."""

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


def in_words(result: Result) -> str:
    """What a person wants to know of `result`."""
    try:
        told = json.loads(result.output)
    except (ValueError, RecursionError):
        return f"{result.tool} answered: {clip(result.output.strip(), TEXT_CHARS_MAX) or 'nothing'}"
    if not isinstance(told, dict):
        return f"{result.tool} answered: {clip(_value(told), TEXT_CHARS_MAX)}"
    error = told.get("error")
    if told.get("ok") is False or error:
        return f"{result.tool} was refused: {_reason(error)}"
    lists = [(name, rows) for name, rows in told.items() if isinstance(rows, list)]
    objects = [(name, row) for name, row in told.items() if isinstance(row, dict)]
    plain = [(name, row) for name, row in told.items() if not isinstance(row, list | dict) and row is not None]
    told_lines = [f"- {name}: {_row(row)}" for name, row in objects]
    for name, rows in lists:
        told_lines.append(f"- {name}: {len(rows) or 'none'}")
        told_lines.extend(f"  - {_row(row)}" for row in rows[:ROWS_SHOWN_MAX])
        if len(rows) > ROWS_SHOWN_MAX:
            told_lines.append(f"  - and {len(rows) - ROWS_SHOWN_MAX} more")
    told_lines.extend(f"- {name}: {_value(value)}" for name, value in plain[:FIELDS_SHOWN_MAX])
    return "\n".join([f"{result.tool} is done." if not told_lines else f"{result.tool} gave:", *told_lines])


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
