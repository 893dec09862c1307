"""What the built-in agent does when it works by itself: it reads its task, moves it one step, and says what it did."""

import json

from carrel.gateway.builtin.intents import ToolRequest
from carrel.gateway.builtin.phrases import NOTICE
from carrel.gateway.builtin.results import describe
from carrel.gateway.builtin.task_words import told_of
from carrel.gateway.builtin.view import Result, View

_TICK = "[AUTO] "
_READ, _MOVE = "task_history", "task_status"
# The status to move to from another one; a task that is done needs nothing more.
_NEXT = {"inbox": "in_progress", "assigned": "in_progress", "in_progress": "review", "review": "done"}
_TOOK_UP = "I have taken this task up. The next time I go on with it."
_FINISHED = "Nothing is left that I could do on this task, so I have marked it as done."


def is_tick(view: View) -> bool:
    """Return whether the server asks the agent to go on with its task; a notification never does."""
    return view.about is not None and view.about.is_direct and view.message.startswith(_TICK)


def work_on(view: View) -> tuple[str, list[ToolRequest]]:
    """Return the next call of a tick, or what the tick says at its end."""
    assert view.about is not None, "a tick is about a task"
    if not view.results:
        return ("", [ToolRequest(_READ, {"taskId": view.about.task_id})]) if _READ in view.tools else (NOTICE, [])
    newest = view.results[-1]
    status = _status(newest)
    # A task that is taken up is worked on in the next tick; one in review is finished in the same.
    following = None if newest.tool == _MOVE and status == "in_progress" else _NEXT.get(status)
    if following is not None and _MOVE in view.tools:
        return "", [ToolRequest(_MOVE, {"taskId": view.about.task_id, "status": following})]
    words = {"in_progress": _TOOK_UP, "done": _FINISHED}.get(status, "")
    done = told_of(newest) or describe(newest)
    return "\n".join(line for line in (done, words, NOTICE if status == "in_progress" else "") if line), []


def _status(result: Result) -> str:
    """The status of the task in a result; empty where the call has failed."""
    try:
        return str(json.loads(result.output)["task"]["status"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
