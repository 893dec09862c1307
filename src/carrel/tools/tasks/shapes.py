"""The result types of the tools for tasks, from which their schemas are made."""

from typing import Any

from msgspec import Struct, json, to_builtins

from carrel.kernel import Access, clip, redact
from carrel.kernel.limits import LISTED_DESCRIPTION_CHARS_MAX, TOOL_MESSAGE_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.storage import Tx
from carrel.tools.model import Result, answer
from carrel.work import FoundTask, Task, TaskShape, ThreadMessage, task_shape

TaskResult = answer("TaskResult", "A task.", task=TaskShape)
StatusResult = answer(
    "StatusResult", "A task, and whether it was moved; one that has the status already was not.",
    task=TaskShape, changed=bool,
)  # fmt: skip
LoadResult = answer(
    "LoadResult", "A task and its newest messages, oldest first.", task=TaskShape, messages=list[ThreadMessage]
)
ThreadResult = answer("ThreadResult", "The newest messages of a thread, oldest first.", messages=list[ThreadMessage])
MessageResult = answer("MessageResult", "A message that was posted.", message=ThreadMessage)
ListResult = answer("ListResult", "Tasks, newest first; long descriptions are clipped.", tasks=list[TaskShape])
SearchResult = answer(
    "SearchResult", "The tasks that a search has found, best first; long descriptions are clipped.",
    tasks=list[FoundTask],
)  # fmt: skip


def task_result(tx: Tx, access: Access, task: Task) -> Result:
    return result_of(TaskResult(task=task_shape(tx, access, task)))


def result_of(shape: Struct) -> Result:
    """Return a shape as a tool result: long texts clipped, the oldest rows dropped if it is too long.

    Secrets in messages are redacted, and the result says what was done to them.
    """
    value: dict[str, Any] = to_builtins(shape)
    for task in value.get("tasks", []):
        task["description"] = clip(task["description"], LISTED_DESCRIPTION_CHARS_MAX)
    for holder, name in ((value.get("task"), "description"), (value.get("message"), "content")):
        if holder is not None:
            holder[name] = clip(holder[name], TOOL_MESSAGE_CHARS_MAX)
    if "messages" in value:
        value |= _messages(value["messages"])
    if "activities" in value:
        value["activities"] = first_that_fit(value["activities"], TOOL_RESULT_BYTES_MAX // 4)
    return Result(value=value)


def _messages(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return messages as they are shown, and what was done to them, if anything was."""
    written = [message["content"] for message in messages]
    plain = [redact(text) for text in written]
    for message, text in zip(messages, plain, strict=True):
        message["content"] = clip(text, TOOL_MESSAGE_CHARS_MAX)
    kept = first_that_fit(messages[::-1], TOOL_RESULT_BYTES_MAX // 2)[::-1]
    dropped, clipped = len(messages) - len(kept), any(len(text) > TOOL_MESSAGE_CHARS_MAX for text in plain)
    told = {
        "truncated": dropped > 0 or clipped,
        "droppedMessages": dropped,
        "contentTruncated": clipped,
        "contentRedacted": plain != written,
    }
    return {"messages": kept} | {name: value for name, value in told.items() if value}


def first_that_fit(rows: list[Any], bytes_max: int) -> list[Any]:
    """Return the first rows that fit into `bytes_max` bytes of JSON."""
    kept, left = [], bytes_max
    for row in rows:
        left -= len(json.encode(row)) + 1
        if left < 0:
            break
        kept.append(row)
    return kept
