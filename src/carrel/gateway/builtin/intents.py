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

from carrel.gateway.builtin.about import without_mentions
from carrel.gateway.builtin.phrases import WHICH_TASK
from carrel.gateway.builtin.view import View

CALLS_MAX = 8
REQUEST_CHARS_MAX = 1_000
_TASK = (
    r"(?:(?P<task>task_\w+)|(?:the |this )?task (?P<named>(?!(?:to|as|in|into|done|review|blocked)\b)[\w.-]+)"
    r"|the task|this task|this|that|it)"
)
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

    def __getitem__(self, group: str) -> str:
        """Return the trimmed text of a named group; empty if it did not match."""
        return (self.match.groupdict().get(group) or "").strip()


class Intent(Struct, frozen=True):
    """One phrase that requests a tool: `pattern` must match the whole first line; if `whole`, that of the message."""

    tool: str
    pattern: re.Pattern[str]
    example: str
    arguments: Callable[[IntentMatch], dict[str, Any]]
    whole: bool = False


def _intent(
    tool: str, pattern: str, example: str, arguments: Callable[[IntentMatch], dict[str, Any]], *, whole: bool = False
) -> Intent:  # fmt: skip
    return Intent(tool, re.compile(pattern + r"\s*[.!?]?", re.IGNORECASE), example, arguments, whole)


def _nothing(_: IntentMatch) -> dict[str, Any]:
    return {}


def _artifact(found: IntentMatch) -> dict[str, Any]:
    text = found["text"].strip("\"'")
    if text.lower() in _THIS:
        text = found.below or (found.view.answers[-1] if found.view.answers else found.view.message)
    return {"text": text, "name": found["name"]}


def _described(name: str) -> Callable[[IntentMatch], dict[str, Any]]:
    def arguments(found: IntentMatch) -> dict[str, Any]:
        return {name: found["rest"]} | ({"description": found.below} if found.below else {})

    return arguments


def _task_id(found: IntentMatch) -> str:
    """Return the task that is named, else the one that the message is about."""
    about = found.view.about
    task_id = found["task"] or found["named"] or ("" if about is None else about.task_id)
    if not task_id:
        raise InvalidRequest(WHICH_TASK)
    return task_id


def _status_move(found: IntentMatch) -> dict[str, Any]:
    status = re.sub(r"[ -]", "_", found["status"].lower()).replace("in_review", "review")
    return {"taskId": _task_id(found), "status": status} | ({"blockedReason": found["rest"]} if found["rest"] else {})


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,@]+(?:and[\s@]+)?", text) if name]


def _plan(found: IntentMatch) -> dict[str, Any]:
    return _planned(found.below.splitlines() or found["rest"].split(";"))


def _listed_plan(found: IntentMatch) -> dict[str, Any]:
    return _planned([found["rest"], *found.below.splitlines()])


def _planned(steps: list[str]) -> dict[str, Any]:
    titles = [title for title in (re.sub(r"^\s*(?:[-*]|\d+[.)])\s*", "", step).strip() for step in steps) if title]
    markdown = "\n".join(f"{number}. {title}" for number, title in enumerate(titles, 1))
    return {"markdown": markdown, "tasks": [{"title": title} for title in titles]}


INTENTS: tuple[Intent, ...] = (
    _intent("session_status", r"(?:what(?:'s| is) (?:the|your) )?(?:session )?status", "status", _nothing),
    _intent(
        "request_input",
        r"(?:ask me|need input|i need input)\b[:,]?\s*(?P<rest>.+?)",
        "ask me which colour you want",
        lambda found: {"question": found["rest"]},
    ),
    _intent(
        "decline",
        r"(?:decline|refuse)\b(?: to)?[:,]?\s*(?P<rest>.*?)",
        "decline: not my field",
        lambda found: {"reason": found["rest"] or "declined on request"},
    ),
    _intent(
        "artifact_add",
        r"(?:attach|save)\s*(?P<text>.*?)\s+as\s+(?P<name>[^\s:]+\w):?",
        "save hello as greeting.txt",
        _artifact,
    ),
    _intent("sessions_list", r"(?:(?:list|show) )?(?:(?:my|the|all) )?sessions", "list sessions", _nothing),
    _intent("agents_list", r"(?:(?:list|show) )?(?:(?:my|the|all) )?agents", "list agents", _nothing),
    _intent("goal_list", r"(?:(?:list|show) )?(?:(?:my|the|all) )?goals", "list goals", _nothing),
    _intent("task_list", r"(?:(?:list|show) )?(?:(?:my|the|all|open) )*tasks", "list tasks", _nothing),
    _intent("plan_get", r"(?:show )?(?:the |my )?plan", "show the plan", _nothing),
    _intent(
        "task_history",
        rf"(?:show )?(?:me )?(?:the )?(?:task )?history(?: of {_TASK})?",
        "history of task_1",
        lambda found: {"taskId": _task_id(found)},
    ),
    _intent(
        "sessions_history",
        r"(?:show )?(?:the )?history of (?P<key>\S+?)",
        "history of main",
        lambda found: {"sessionKey": found["key"]},
    ),
    _intent(
        "task_create", r"(?:create|add|new) (?:a )?task\b:?\s*(?P<rest>.+?)", "create task Tidy up", _described("title")
    ),
    _intent("goal_create", r"(?:create |add |new )?goal:\s*(?P<rest>.+?)", "goal: Ship it", _described("name")),
    _intent(
        "task_status",
        rf"(?:mark|move|set) {_TASK} (?:as |to )?(?P<status>in[ _-]progress|(?:in )?review|done|blocked)"
        r"(?:(?:[:,]|\s+because)\s*(?P<rest>.+?))?",
        "mark task_1 done",
        _status_move,
    ),
    _intent(
        "task_assign",
        rf"assign {_TASK} to (?P<rest>@?[\w-]+(?:(?:,| and|, and) @?[\w-]+)*)",
        "assign task_1 to writer",
        lambda found: {"taskId": _task_id(found), "assigneeSlugs": _names(found["rest"])},
    ),
    _intent(
        "response_request",
        r"ask (?P<names>@?[\w-]+(?:(?:,| and|, and) @?[\w-]+)*):\s+(?P<rest>.+)",
        "ask writer: is it ready",
        lambda found: {"recipientSlugs": _names(found["names"]), "message": found["rest"]},
    ),
    _intent(
        "memory_search",
        r"(?:search (?:your |the )?memory for|recall)\b:?\s*(?P<rest>.+?)",
        "recall the budget",
        lambda found: {"query": found["rest"]},
    ),
    _intent(
        "memory_add",
        r"remember\b(?: that)?:?\s*(?P<rest>.+?)",
        "remember that Monday is free",
        lambda found: {"content": found["rest"], "type": "fact"},
    ),
    _intent(
        "clawboard_search",
        r"search(?: the board)?(?: for)?\b:?\s*(?P<rest>.+?)",
        "search for invoices",
        lambda found: {"q": found["rest"]},
    ),
    _intent(
        "sessions_send",
        r"(?:tell|send(?: to)?) (?P<key>[\w.@-]+(?::[\w.@-]+)*):\s+(?P<rest>.+)",
        "tell main: good morning",
        lambda found: {"sessionKey": found["key"], "message": found["rest"]},
    ),
    _intent(
        "sessions_spawn",
        r"(?:spawn|delegate):\s*(?P<rest>.+)",
        "delegate: look it up",
        lambda found: {"task": found["rest"]},
    ),
    _intent("plan_set_content", r"plan:\s*(?P<rest>.*?)", "plan: draft; review; send", _plan),
    # A message that is a list; elsewhere than in plan mode this tool is not there.
    _intent("plan_set_content", r"(?:[-*]|\d+[.)]) (?P<rest>.+?)", "1. draft (and so on)", _listed_plan, whole=True),
)


def find_requests(view: View) -> list[ToolRequest]:
    """Return the requested tool calls; raise InvalidRequest for an explicit one that cannot be followed."""
    for span in _spans(view.message):
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
    # Short and with single spaces: the time of a pattern may grow with the square of the line's length.
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
                raise InvalidRequest(f"There is no tool {tool} here. Available tools: {_listing(view.tools)}.")
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


def _listing(tools: frozenset[str]) -> str:
    return ", ".join(sorted(tools)) or "none"
