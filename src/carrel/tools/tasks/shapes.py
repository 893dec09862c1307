"""The result types of the tools for tasks, from which their schemas are made."""

from typing import Any

from msgspec import Struct, json, to_builtins

from carrel.kernel import clip
from carrel.kernel.limits import LISTED_DESCRIPTION_CHARS_MAX, TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.tools.model import Result
from carrel.work import FoundTask, TaskShape, ThreadMessage


class Shape(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a result."""


class TaskResult(Shape, frozen=True, kw_only=True):
    """A task."""

    task: TaskShape


class StatusResult(Shape, frozen=True, kw_only=True):
    """A task, and whether it was moved; one that has the status already was not."""

    task: TaskShape
    changed: bool


class LoadResult(Shape, frozen=True, kw_only=True):
    """A task and its newest messages, oldest first."""

    task: TaskShape
    messages: list[ThreadMessage]


class ThreadResult(Shape, frozen=True, kw_only=True):
    """The newest messages of a thread, oldest first."""

    messages: list[ThreadMessage]


class MessageResult(Shape, frozen=True, kw_only=True):
    """A message that was posted."""

    message: ThreadMessage


class ListResult(Shape, frozen=True, kw_only=True):
    """Tasks, newest first; long descriptions are clipped."""

    tasks: list[TaskShape]


class SearchResult(Shape, frozen=True, kw_only=True):
    """The tasks that a search has found, best first; long descriptions are clipped."""

    tasks: list[FoundTask]


def result_of(shape: Struct) -> Result:
    """Return a shape as the result of a tool: long texts clipped, the oldest rows left out if it is too long."""
    value: dict[str, Any] = to_builtins(shape)
    for task in value.get("tasks", []):
        task["description"] = clip(task["description"], LISTED_DESCRIPTION_CHARS_MAX)
    for holder, name in ((value.get("task"), "description"), (value.get("message"), "content")):
        if holder is not None:
            holder[name] = clip(holder[name], TOOL_MESSAGE_CHARS_MAX)
    if "messages" in value:
        for message in value["messages"]:
            message["content"] = clip(message["content"], TOOL_MESSAGE_CHARS_MAX)
        value["messages"] = first_that_fit(value["messages"][::-1], TOOL_RESULT_BYTES_MAX // 2)[::-1]
    if "activities" in value:
        value["activities"] = first_that_fit(value["activities"], TOOL_RESULT_BYTES_MAX // 4)
    return Result(value=value)


def first_that_fit(rows: list[Any], bytes_max: int) -> list[Any]:
    """Return as many of the first rows as fit into so many bytes of JSON."""
    kept, left = [], bytes_max
    for row in rows:
        left -= len(json.encode(row)) + 1
        if left < 0:
            break
        kept.append(row)
    return kept
