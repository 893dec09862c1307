"""What the built-in agent understands as a wish to use a tool: a table, one entry for each way of saying it.

An entry whose tool is not offered does not exist for that step. A wish must begin what was said, its last paragraph or
its last line, so that text quoted in the middle of a message commands nothing.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from carrel.gateway.builtin.view import Seen

CALLS_MAX = 8
WISH_CHARS_MAX = 1_000
_THIS = frozenset({"", "this", "that", "it", "the following", "your answer"})
_USE = re.compile(r"use[ \t]+(?P<tool>[A-Za-z][\w.-]*)[ \t]*(?P<brace>\{)?", re.IGNORECASE)


class Wish(Struct, frozen=True):
    """A tool to use and its arguments."""

    tool: str
    arguments: dict[str, Any]


class Misspelt(Exception):
    """An explicit wish that cannot be followed, with the sentence that says why."""


class Spoken(Struct, frozen=True):
    """A line that matched, what stood below it, and all that can be seen."""

    match: re.Match[str]
    below: str
    seen: Seen

    def __getitem__(self, group: str) -> str:
        """What a named part of the pattern caught, trimmed; empty when it caught nothing."""
        return (self.match.groupdict().get(group) or "").strip()


class Intent(Struct, frozen=True):
    """One way of wishing for a tool: `pattern` must match the whole first line."""

    tool: str
    pattern: re.Pattern[str]
    example: str
    arguments: Callable[[Spoken], dict[str, Any]]


def _intent(tool: str, pattern: str, example: str, arguments: Callable[[Spoken], dict[str, Any]]) -> Intent:
    return Intent(tool, re.compile(pattern + r"\s*[.!?]?", re.IGNORECASE), example, arguments)


def _nothing(_: Spoken) -> dict[str, Any]:
    return {}


def _artifact(spoken: Spoken) -> dict[str, Any]:
    text = spoken["text"].strip("\"'")
    if text.lower() in _THIS:
        text = spoken.below or (spoken.seen.answers[-1] if spoken.seen.answers else spoken.seen.said)
    return {"text": text, "name": spoken["name"]}


def _described(name: str) -> Callable[[Spoken], dict[str, Any]]:
    def arguments(spoken: Spoken) -> dict[str, Any]:
        return {name: spoken["rest"]} | ({"description": spoken.below} if spoken.below else {})

    return arguments


def _status_move(spoken: Spoken) -> dict[str, Any]:
    status = re.sub(r"[ -]", "_", spoken["status"].lower())
    return {"taskId": spoken["task"], "status": status} | ({"blockedReason": spoken["rest"]} if spoken["rest"] else {})


def _plan(spoken: Spoken) -> dict[str, Any]:
    steps = spoken.below.splitlines() or spoken["rest"].split(";")
    titles = [title for title in (re.sub(r"^\s*(?:[-*]|\d+[.)])\s*", "", step).strip() for step in steps) if title]
    markdown = "\n".join(f"{number}. {title}" for number, title in enumerate(titles, 1))
    return {"markdown": markdown, "tasks": [{"title": title} for title in titles]}


INTENTS: tuple[Intent, ...] = (
    _intent("session_status", r"(?:what(?:'s| is) (?:the|your) )?(?:session )?status", "status", _nothing),
    _intent(
        "request_input",
        r"(?:ask me|need input|i need input)\b[:,]?\s*(?P<rest>.+?)",
        "ask me which colour you want",
        lambda spoken: {"question": spoken["rest"]},
    ),
    _intent(
        "decline",
        r"(?:decline|refuse)\b(?: to)?[:,]?\s*(?P<rest>.*?)",
        "decline: not my field",
        lambda spoken: {"reason": spoken["rest"] or "declined on request"},
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
        r"(?:show )?(?:the )?history of (?P<task>task_\w+)",
        "history of task_1",
        lambda spoken: {"taskId": spoken["task"]},
    ),
    _intent(
        "sessions_history",
        r"(?:show )?(?:the )?history of (?P<key>\S+?)",
        "history of main",
        lambda spoken: {"sessionKey": spoken["key"]},
    ),
    _intent(
        "task_create", r"(?:create|add|new) (?:a )?task\b:?\s*(?P<rest>.+?)", "create task Tidy up", _described("title")
    ),
    _intent("goal_create", r"(?:create |add |new )?goal:\s*(?P<rest>.+?)", "goal: Ship it", _described("name")),
    _intent(
        "task_status",
        r"(?:mark|move|set) (?P<task>task_\w+) (?:as |to )?(?P<status>in[ _-]progress|review|done|blocked)"
        r"(?:[:,]\s*(?P<rest>.+?))?",
        "mark task_1 done",
        _status_move,
    ),
    _intent(
        "memory_search",
        r"(?:search (?:your |the )?memory for|recall)\b:?\s*(?P<rest>.+?)",
        "recall the budget",
        lambda spoken: {"query": spoken["rest"]},
    ),
    _intent(
        "memory_add",
        r"remember\b(?: that)?:?\s*(?P<rest>.+?)",
        "remember that Monday is free",
        lambda spoken: {"content": spoken["rest"], "type": "fact"},
    ),
    _intent(
        "clawboard_search",
        r"search(?: the board)?(?: for)?\b:?\s*(?P<rest>.+?)",
        "search for invoices",
        lambda spoken: {"q": spoken["rest"]},
    ),
    _intent(
        "sessions_send",
        r"(?:tell|send(?: to)?) (?P<key>[\w.@-]+(?::[\w.@-]+)*):\s+(?P<rest>.+)",
        "tell main: good morning",
        lambda spoken: {"sessionKey": spoken["key"], "message": spoken["rest"]},
    ),
    _intent(
        "sessions_spawn",
        r"(?:spawn|delegate):\s*(?P<rest>.+)",
        "delegate: look it up",
        lambda spoken: {"task": spoken["rest"]},
    ),
    _intent("plan_set_content", r"plan:\s*(?P<rest>.*?)", "plan: draft; review; send", _plan),
)


def find_wishes(seen: Seen) -> list[Wish]:
    """The tools that were wished for, all of them offered; raises Misspelt for an explicit wish that cannot be."""
    for span in _spans(seen.said):
        wishes = list(_explicit(span, seen)) or _spoken(span, seen)
        if wishes:
            return wishes[:CALLS_MAX]
    return []


def examples(tools: frozenset[str]) -> list[str]:
    """A way of saying each wish that can be followed with `tools`."""
    return [intent.example for intent in INTENTS if intent.tool in tools]


def _spans(said: str) -> Iterator[str]:
    yield said
    yield re.split(r"\n[ \t]*\n", said)[-1].strip()
    yield said.rpartition("\n")[2].strip()


def _spoken(span: str, seen: Seen) -> list[Wish]:
    first, _, below = span.partition("\n")
    # Short and with single spaces: the time a pattern takes can grow with the square of what it looks at.
    line = " ".join(first.split())
    if len(line) > WISH_CHARS_MAX:
        return []
    for intent in INTENTS:
        match = intent.pattern.fullmatch(line) if intent.tool in seen.tools else None
        if match is not None:
            return [Wish(intent.tool, intent.arguments(Spoken(match, below.strip(), seen)))]
    return []


def _explicit(span: str, seen: Seen) -> Iterator[Wish]:
    """The wishes written `use <tool> {arguments}`, as many as follow one another."""
    while (match := _USE.match(span)) is not None:
        tool, has_arguments = match["tool"], match["brace"] is not None
        if tool not in seen.tools:
            if has_arguments:
                raise Misspelt(f"The tool {tool} is not offered here. Offered: {_listing(seen.tools)}.")
            return
        arguments: dict[str, Any] = {}
        end = match.end()
        if has_arguments:
            try:
                arguments, end = json.JSONDecoder().raw_decode(span, match.start("brace"))
            except (ValueError, RecursionError):
                raise Misspelt(f"The arguments of {tool} are no JSON object; nothing was done.") from None
        elif span[end:].partition("\n")[0].strip():
            return
        yield Wish(tool, arguments)
        span = span[end:].lstrip()


def _listing(tools: frozenset[str]) -> str:
    return ", ".join(sorted(tools)) or "none"
