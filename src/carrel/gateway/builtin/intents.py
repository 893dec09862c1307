"""The phrases that the built-in agent understands as requests to use a tool, as a table.

A phrase counts only if its tool is available in the step. It must start the message, its last paragraph or its last
line, so that quoted text inside a message triggers nothing.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from carrel.gateway.builtin.view import View, without_mentions

CALLS_MAX = 8
REQUEST_CHARS_MAX = 1_000
_TASK = (
    r"(?:(?P<task>task_\w+)|(?:the |this )?task (?P<named>(?!(?:to|as|in|into|done|review|blocked)\b)[\w.-]+)"
    r"|the task|this task|this|that|it)"
)
_NAMES = r"@?[\w-]+(?:(?:,| and|, and) @?[\w-]+)*"
_LIST = r"(?:(?:list|show) )?(?:(?:my|the|all) )?"
_THIS = frozenset({"", "this", "that", "it", "the following", "your answer"})
_USE = re.compile(r"use[ \t]+(?P<tool>[A-Za-z][\w.-]*)[ \t]*(?P<brace>\{)?", re.IGNORECASE)


class ToolRequest(Struct, frozen=True):
    """A tool to call and its arguments."""

    tool: str
    arguments: dict[str, Any]


class InvalidRequest(Exception):
    """An explicit request that cannot be followed, with the sentence that says why."""


class IntentMatch(Struct, frozen=True):
    """A line that matched, the text below it, and the whole request."""

    match: re.Match[str]
    below: str
    view: View

    @property
    def given(self) -> dict[str, Any]:
        """The trimmed texts of the named groups that matched."""
        return {name: text.strip() for name, text in self.match.groupdict().items() if text is not None}

    def __getitem__(self, group: str) -> str:
        """Return the trimmed text of a named group; empty if it did not match."""
        return (self.match[group] or "").strip()


class Intent(Struct, frozen=True):
    """A phrase that requests a tool: `pattern` must match the whole first line; if `whole`, the whole message.

    Its groups are named like the tool's arguments, unless `arguments` builds them from the match.
    """

    tool: str
    example: str
    pattern: re.Pattern[str]
    arguments: Callable[[IntentMatch], dict[str, Any]]
    whole: bool = False


def _intent(
    tool: str, example: str, pattern: str,
    arguments: Callable[[IntentMatch], dict[str, Any]] = lambda found: found.given, *, whole: bool = False,
) -> Intent:  # fmt: skip
    return Intent(tool, example, re.compile(pattern + r"\s*[.!?]?", re.IGNORECASE), arguments, whole)


def _artifact(found: IntentMatch) -> dict[str, Any]:
    text = found["text"].strip("\"'")
    if text.lower() in _THIS:
        text = found.below or (found.view.answers[-1] if found.view.answers else found.view.message)
    return {"text": text, "name": found["name"]}


def _described(found: IntentMatch) -> dict[str, Any]:
    return found.given | ({"description": found.below} if found.below else {})


def _task_id(found: IntentMatch) -> str:
    """Return the named task, else the one that the message is about."""
    about = found.view.about
    task_id = found["task"] or found["named"] or ("" if about is None else about.task_id)
    if not task_id:
        raise InvalidRequest("Say which task you mean, by its id, for example task_1.")
    return task_id


def _status_move(found: IntentMatch) -> dict[str, Any]:
    status = re.sub(r"[ -]", "_", found["status"].lower()).replace("in_review", "review")
    return {"taskId": _task_id(found), "status": status} | ({"blockedReason": found["rest"]} if found["rest"] else {})


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,@]+(?:and[\s@]+)?", text) if name]


def _planned(steps: list[str]) -> dict[str, Any]:
    titles = [title for title in (re.sub(r"^\s*(?:[-*]|\d+[.)])\s*", "", step).strip() for step in steps) if title]
    markdown = "\n".join(f"{number}. {title}" for number, title in enumerate(titles, 1))
    return {"markdown": markdown, "tasks": [{"title": title} for title in titles]}


INTENTS: tuple[Intent, ...] = (
    _intent("session_status", "status", r"(?:what(?:'s| is) (?:the|your) )?(?:session )?status"),
    _intent(
        "request_input", "ask me which colour you want",
        r"(?:ask me|need input|i need input)\b[:,]?\s*(?P<question>.+?)",
    ),
    _intent(
        "decline", "decline: not my field", r"(?:decline|refuse)\b(?: to)?[:,]?\s*(?P<reason>.*?)",
        lambda found: {"reason": found["reason"] or "declined on request"},
    ),
    _intent(
        "artifact_add", "save hello as greeting.txt",
        r"(?:attach|save)\s*(?P<text>.*?)\s+as\s+(?P<name>[^\s:]+\w):?", _artifact,
    ),
    _intent("sessions_list", "list sessions", f"{_LIST}sessions"),
    _intent("agents_list", "list agents", f"{_LIST}agents"),
    _intent("goal_list", "list goals", f"{_LIST}goals"),
    _intent("task_list", "list tasks", r"(?:(?:list|show) )?(?:(?:my|the|all|open) )*tasks"),
    _intent("plan_get", "show the plan", r"(?:show )?(?:the |my )?plan"),
    _intent(
        "task_history", "history of task_1", rf"(?:show )?(?:me )?(?:the )?(?:task )?history(?: of {_TASK})?",
        lambda found: {"taskId": _task_id(found)},
    ),
    _intent("sessions_history", "history of main", r"(?:show )?(?:the )?history of (?P<sessionKey>\S+?)"),
    _intent(
        "task_create", "create task Tidy up", r"(?:create|add|new) (?:a )?task\b:?\s*(?P<title>.+?)", _described
    ),
    _intent("goal_create", "goal: Ship it", r"(?:create |add |new )?goal:\s*(?P<name>.+?)", _described),
    _intent(
        "task_status", "mark task_1 done",
        rf"(?:mark|move|set) {_TASK} (?:as |to )?(?P<status>in[ _-]progress|(?:in )?review|done|blocked)"
        r"(?:(?:[:,]|\s+because)\s*(?P<rest>.+?))?",
        _status_move,
    ),
    _intent(
        "task_assign", "assign task_1 to writer", rf"assign {_TASK} to (?P<names>{_NAMES})",
        lambda found: {"taskId": _task_id(found), "assigneeSlugs": _names(found["names"])},
    ),
    _intent(
        "response_request", "ask writer: is it ready", rf"ask (?P<names>{_NAMES}):\s+(?P<message>.+)",
        lambda found: {"recipientSlugs": _names(found["names"]), "message": found["message"]},
    ),
    _intent(
        "memory_search", "recall the budget", r"(?:search (?:your |the )?memory for|recall)\b:?\s*(?P<query>.+?)"
    ),
    _intent(
        "memory_add", "remember that Monday is free", r"remember\b(?: that)?:?\s*(?P<content>.+?)",
        lambda found: found.given | {"type": "fact"},
    ),
    _intent("clawboard_search", "search for invoices", r"search(?: the board)?(?: for)?\b:?\s*(?P<q>.+?)"),
    _intent(
        "sessions_send", "tell main: good morning",
        r"(?:tell|send(?: to)?) (?P<sessionKey>[\w.@-]+(?::[\w.@-]+)*):\s+(?P<message>.+)",
    ),
    _intent("sessions_spawn", "delegate: look it up", r"(?:spawn|delegate):\s*(?P<task>.+)"),
    _intent(
        "plan_set_content", "plan: draft; review; send", r"plan:\s*(?P<steps>.*?)",
        lambda found: _planned(found.below.splitlines() or found["steps"].split(";")),
    ),
    # A message that is a list; this tool is only available in plan mode.
    _intent(
        "plan_set_content", "1. draft (and so on)", r"(?:[-*]|\d+[.)]) (?P<first>.+?)",
        lambda found: _planned([found["first"], *found.below.splitlines()]), whole=True,
    ),
)  # fmt: skip


def find_requests(view: View) -> list[ToolRequest]:
    """Return the requested tool calls; raise InvalidRequest for an explicit one that cannot be followed."""
    for span in dict.fromkeys(_spans(view.message)):
        requests = list(islice(_explicit(span, view), CALLS_MAX)) or _phrased(span, view)
        if requests:
            return requests
    return []


def examples(tools: frozenset[str]) -> list[str]:
    """Return an example phrase for each request that `tools` allow."""
    return [intent.example for intent in INTENTS if intent.tool in tools]


def _spans(message: str) -> Iterator[str]:
    yield message
    yield without_mentions(re.split(r"\n[ \t]*\n", message)[-1].strip())
    yield without_mentions(message.rpartition("\n")[2].strip())


def _phrased(span: str, view: View) -> list[ToolRequest]:
    first, _, below = span.partition("\n")
    # Short and single-spaced: the time of a pattern may grow with the square of the line's length.
    line = " ".join(first.split())
    if len(line) > REQUEST_CHARS_MAX:
        return []
    for intent in INTENTS:
        is_possible = intent.tool in view.tools and (span == view.message or not intent.whole)
        match = intent.pattern.fullmatch(line) if is_possible else None
        if match is not None:
            return [ToolRequest(intent.tool, intent.arguments(IntentMatch(match, below.strip(), view)))]
    return []


def _explicit(span: str, view: View) -> Iterator[ToolRequest]:
    """Yield the consecutive requests written as `use <tool> {arguments}`."""
    while (match := _USE.match(span)) is not None:
        tool, has_arguments = match["tool"], match["brace"] is not None
        if tool not in view.tools:
            if has_arguments:
                listed = ", ".join(sorted(view.tools)) or "none"
                raise InvalidRequest(f"There is no tool {tool} here. Available tools: {listed}.")
            return
        arguments: dict[str, Any] = {}
        end = match.end()
        if has_arguments:
            try:
                arguments, end = json.JSONDecoder().raw_decode(span, match.start("brace"))
            except (ValueError, RecursionError):
                raise InvalidRequest(f"The arguments of {tool} are not a JSON object, so I did nothing.") from None
        elif span[end:].partition("\n")[0].strip():
            return
        yield ToolRequest(tool, arguments)
        span = span[end:].lstrip()
