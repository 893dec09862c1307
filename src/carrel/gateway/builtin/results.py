"""A tool's result in plain words: a sentence for tasks and plans, else its fields, its error, the first rows."""

import json
from itertools import islice
from typing import Any

from carrel.gateway.builtin.view import Result
from carrel.gateway.items import json_value
from carrel.kernel import clip

ROWS_SHOWN_MAX = 5
FIELDS_SHOWN_MAX = 12
VALUE_CHARS_MAX = 160
TEXT_CHARS_MAX = 600
_NAMES = ("id", "key", "sessionKey", "slug")
_TITLES = ("title", "name", "label", "displayName", "content", "text", "summary")
_STATUSES = ("status", "state")
_SPELLED = {"in_progress": "in progress", "review": "in review", "inbox": "in the inbox"}


def describe(result: Result) -> str:
    parsed = json_value(result.output)
    if parsed is None:
        return f"{result.tool} returned: {clip(result.output.strip(), TEXT_CHARS_MAX) or 'nothing'}"
    try:
        return _sentence(result.tool, parsed)
    except (KeyError, TypeError, IndexError):
        # Another tool, or an unexpected form of result.
        return _described(result.tool, parsed)


def _sentence(tool: str, value: dict[str, Any]) -> str:
    match tool:
        case "task_status" | "task_update":
            return f"{_task(value)} {'already' if value.get('changed') is False else 'now'}."
        case "task_history":
            said, changes = value["messages"], value["activities"]
            lines = ["Nothing has been said in its thread yet."]
            if said:
                newest = f"{said[-1]['authorName']}: {_value(said[-1]['content'])}"
                lines = [f"Newest of {_counted(said, 'message')}: {newest}"]
            lines += [f"Last of {_counted(changes, 'change')}: {changes[0]['summary']}"] if changes else []
            return "\n".join([f"{_task(value)}.", *lines])
        case "plan_set_content":
            plan, tasks = value["plan"], value["plan"]["tasks"]
            steps = [f"{number}. {clip(task['title'], VALUE_CHARS_MAX)}" for number, task in enumerate(tasks, 1)]
            ready = f"The plan {plan['id']} is {plan['status']}, with {_counted(tasks, 'task')}:"
            return "\n".join([ready, *steps, "Approve it with /plan approve, or say what to plan instead."])
    raise KeyError(tool)


def _task(value: dict[str, Any]) -> str:
    task = value["task"]
    return f"{task['title']} ({task['id']}) is {_SPELLED.get(task['status'], task['status'])}"


def _counted(rows: list[Any], word: str) -> str:
    return f"{len(rows)} {word}{'' if len(rows) == 1 else 's'}"


def _described(tool: str, parsed: Any) -> str:
    if not isinstance(parsed, dict):
        return f"{tool} returned: {clip(_value(parsed), TEXT_CHARS_MAX)}"
    error = parsed.get("error")
    if parsed.get("ok") is False or error:
        return f"{tool} failed: {_reason(error)}"
    lines = []
    for name, value in islice(parsed.items(), FIELDS_SHOWN_MAX):
        if isinstance(value, list):
            lines.append(f"- {name}: {len(value) or 'none'}")
            lines += [f"  - {_row(row)}" for row in value[:ROWS_SHOWN_MAX]]
            lines += [f"  - and {len(value) - ROWS_SHOWN_MAX} more"] if len(value) > ROWS_SHOWN_MAX else []
        elif value is not None:
            lines.append(f"- {name}: {_row(value)}")
    return "\n".join([f"{tool} returned:" if lines else f"{tool} succeeded.", *lines])


def _reason(error: Any) -> str:
    if not isinstance(error, dict):
        return _value(error or "no reason given")
    code = f" ({error['code']})" if error.get("code") else ""
    return f"{_value(error.get('message') or 'no reason given')}{code}"


def _row(row: Any) -> str:
    if not isinstance(row, dict):
        return _value(row)
    name, title, status = (
        next((row[key] for key in keys if isinstance(row.get(key), str)), "") for keys in (_NAMES, _TITLES, _STATUSES)
    )
    words = " ".join(_value(word) for word in (name, title) if word)
    return f"{words} [{status}]" if status and words else words or _value(row)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(" ".join(text.split()), VALUE_CHARS_MAX)
