"""A tool's result in plain words: a sentence for tasks and plans, else its fields, its error, the first rows."""

import json
from collections.abc import Callable
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
    try:
        return _WORDS[result.tool](parsed)
    except (KeyError, TypeError, IndexError):
        # Another tool, or an unexpected form of result.
        return _described(result.tool, parsed)


def _described(tool: str, parsed: Any) -> str:
    if not isinstance(parsed, dict):
        return f"{tool} returned: {clip(_value(parsed), TEXT_CHARS_MAX)}"
    error = parsed.get("error")
    if parsed.get("ok") is False or error:
        return f"{tool} failed: {_reason(error)}"
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
    return "\n".join([f"{tool} returned:" if lines else f"{tool} succeeded.", *lines])


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


def _moved(value: dict[str, Any]) -> str:
    task = value["task"]
    now = f"{task['title']} ({task['id']}) is {_spelled(task['status'])}"
    return f"{now} already." if value.get("changed") is False else f"{now} now."


def _so_far(value: dict[str, Any]) -> str:
    task, messages, activities = value["task"], value["messages"], value["activities"]
    lines = [f"{task['title']} ({task['id']}) is {_spelled(task['status'])}."]
    if messages:
        newest = messages[-1]
        said = clip(" ".join(newest["content"].split()), VALUE_CHARS_MAX)
        lines.append(f"Newest of {_counted(messages, 'message')}: {newest['authorName']}: {said}")
    else:
        lines.append("Nothing has been said in its thread yet.")
    if activities:
        lines.append(f"Last of {_counted(activities, 'change')}: {activities[0]['summary']}")
    return "\n".join(lines)


def _planned(value: dict[str, Any]) -> str:
    plan = value["plan"]
    ready = f"The plan {plan['id']} is {plan['status']}, with {_counted(plan['tasks'], 'task')}:"
    steps = [f"{number}. {clip(task['title'], VALUE_CHARS_MAX)}" for number, task in enumerate(plan["tasks"], 1)]
    return "\n".join([ready, *steps, "Approve it with /plan approve, or say what to plan instead."])


def _counted(rows: list[Any], word: str) -> str:
    return f"{len(rows)} {word}{'' if len(rows) == 1 else 's'}"


def _spelled(status: str) -> str:
    return {"in_progress": "in progress", "review": "in review", "inbox": "in the inbox"}.get(status, status)


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "task_status": _moved,
    "task_update": _moved,
    "task_history": _so_far,
    "plan_set_content": _planned,
}
