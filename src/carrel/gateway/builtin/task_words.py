"""Results of the tools for tasks and plans in plain words; what is unexpected is left to the general description."""

import json
from collections.abc import Callable
from typing import Any

from carrel.gateway.builtin.view import Result
from carrel.kernel import clip

_QUOTE_CHARS_MAX = 160


def told_of(result: Result) -> str | None:
    """Return a result of a tool for tasks or plans as a sentence or two; None for every other result."""
    words = _WORDS.get(result.tool)
    if words is None:
        return None
    try:
        return words(json.loads(result.output))
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return None


def _moved(value: dict[str, Any]) -> str:
    task = value["task"]
    now = f"{task['title']} ({task['id']}) is {_spelled(task['status'])}"
    return f"{now} already." if value.get("changed") is False else f"{now} now."


def _so_far(value: dict[str, Any]) -> str:
    task, messages, activities = value["task"], value["messages"], value["activities"]
    lines = [f"{task['title']} ({task['id']}) is {_spelled(task['status'])}."]
    if messages:
        newest = messages[-1]
        said = clip(" ".join(newest["content"].split()), _QUOTE_CHARS_MAX)
        lines.append(f"Newest of {_counted(messages, 'message')}: {newest['authorName']}: {said}")
    else:
        lines.append("Nothing has been said in its thread yet.")
    if activities:
        lines.append(f"Last of {_counted(activities, 'change')}: {activities[0]['summary']}")
    return "\n".join(lines)


def _planned(value: dict[str, Any]) -> str:
    plan = value["plan"]
    ready = f"The plan {plan['id']} is {plan['status']}, with {_counted(plan['tasks'], 'task')}:"
    steps = [f"{number}. {clip(task['title'], _QUOTE_CHARS_MAX)}" for number, task in enumerate(plan["tasks"], 1)]
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
