"""The phrases that the built-in agent understands as requests to use a tool, as a table.

A phrase counts only if its tool is available in the step. It must start the message, its last paragraph or its last
line, so that quoted text inside a message triggers nothing.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from carrel.gateway.builtin.view import View, without_mentions

Arguments = dict[str, Any]

CALLS_MAX = 8
REQUEST_CHARS_MAX = 1_000
_TASK = (
    r"(?:(?P<task>task_\w+)|(?:the |this )?task (?P<named>(?!(?:to|as|in|into|done|review|blocked)\b)[\w.-]+)"
    r"|the task|this task|this|that|it)"
)
_NAMES = r"@?[\w-]+(?:(?:,| and|, and) @?[\w-]+)*"
_LIST = r"(?:(?:list|show) )?(?:(?:my|the|all) )?"
_THIS = frozenset({"", "this", "that", "it", "the following", "your answer"})
_END = r"\s*[.!?]?"
_USE = re.compile(r"use[ \t]+(?P<tool>[A-Za-z][\w.-]*)[ \t]*(?P<brace>\{)?", re.IGNORECASE)


class ToolRequest(NamedTuple):
    tool: str
    arguments: Arguments


class InvalidRequest(Exception):
    """An explicit request that cannot be followed, with the sentence that says why."""


class Intent(NamedTuple):
    """A phrase that requests a tool: `pattern` must match the whole first line; if `whole`, the whole message.

    Its groups are named like the tool's arguments, except those that `_arguments` reads.
    """

    tool: str
    example: str
    pattern: str
    whole: bool = False


INTENTS = (
    Intent("session_status", "status", r"(?:what(?:'s| is) (?:the|your) )?(?:session )?status"),
    Intent("request_input", "ask me which colour you want",
        r"(?:ask me|need input|i need input)\b[:,]?\s*(?P<question>.+?)"),
    Intent("decline", "decline: not my field", r"(?:decline|refuse)\b(?: to)?[:,]?\s*(?P<reason>.*?)"),
    Intent("artifact_add", "save hello as greeting.txt",
        r"(?:attach|save)\s*(?P<text>.*?)\s+as\s+(?P<name>[^\s:]+\w):?"),
    Intent("sessions_list", "list sessions", f"{_LIST}sessions"),
    Intent("agents_list", "list agents", f"{_LIST}agents"),
    Intent("goal_list", "list goals", f"{_LIST}goals"),
    Intent("task_list", "list tasks", r"(?:(?:list|show) )?(?:(?:my|the|all|open) )*tasks"),
    Intent("plan_get", "show the plan", r"(?:show )?(?:the |my )?plan"),
    Intent("task_history", "history of task_1", rf"(?:show )?(?:me )?(?:the )?(?:task )?history(?: of {_TASK})?"),
    Intent("sessions_history", "history of main", r"(?:show )?(?:the )?history of (?P<sessionKey>\S+?)"),
    Intent("task_create", "create task Tidy up", r"(?:create|add|new) (?:a )?task\b:?\s*(?P<title>.+?)"),
    Intent("goal_create", "goal: Ship it", r"(?:create |add |new )?goal:\s*(?P<name>.+?)"),
    Intent(
        "task_status", "mark task_1 done",
        rf"(?:mark|move|set) {_TASK} (?:as |to )?(?P<status>in[ _-]progress|(?:in )?review|done|blocked)"
        r"(?:(?:[:,]|\s+because)\s*(?P<blockedReason>.+?))?",
    ),
    Intent("task_assign", "assign task_1 to writer", rf"assign {_TASK} to (?P<assigneeSlugs>{_NAMES})"),
    Intent("response_request", "ask writer: is it ready", rf"ask (?P<recipientSlugs>{_NAMES}):\s+(?P<message>.+)"),
    Intent("memory_search", "recall the budget", r"(?:search (?:your |the )?memory for|recall)\b:?\s*(?P<query>.+?)"),
    Intent("memory_add", "remember that Monday is free", r"remember\b(?: that)?:?\s*(?P<content>.+?)"),
    Intent("clawboard_search", "search for invoices", r"search(?: the board)?(?: for)?\b:?\s*(?P<q>.+?)"),
    Intent("sessions_send", "tell main: good morning",
        r"(?:tell|send(?: to)?) (?P<sessionKey>[\w.@-]+(?::[\w.@-]+)*):\s+(?P<message>.+)"),
    Intent("sessions_spawn", "delegate: look it up", r"(?:spawn|delegate):\s*(?P<task>.+)"),
    Intent("plan_set_content", "plan: draft; review; send", r"plan:\s*(?P<steps>.*?)"),
    # A message that is a list; this tool is only available in plan mode.
    Intent("plan_set_content", "1. draft (and so on)", r"(?:[-*]|\d+[.)]) (?P<first>.+?)", whole=True),
)  # fmt: skip


def _arguments(tool: str, given: Arguments, below: str, view: View) -> Arguments:
    """Return the arguments of a call: the groups of a phrase that matched, with what the tool needs besides them.

    `below` is the text below the phrase.
    """
    match tool:
        case "artifact_add":
            text = given["text"].strip("\"'")
            if text.lower() in _THIS:
                text = below or (view.answers[-1] if view.answers else view.message)
            return given | {"text": text}
        case "decline":
            return {"reason": given["reason"] or "declined on request"}
        case "memory_add":
            return given | {"type": "fact"}
        case "plan_set_content":
            steps = [given["first"]] if "first" in given else []
            return _planned([*steps, *below.splitlines()] or given["steps"].split(";"))
        case "response_request":
            return given | {"recipientSlugs": _names(given["recipientSlugs"])}
        case "task_assign":
            return _about_task(given, view) | {"assigneeSlugs": _names(given["assigneeSlugs"])}
        case "task_create" | "goal_create":
            return given | ({"description": below} if below else {})
        case "task_history":
            return _about_task(given, view)
        case "task_status":
            status = re.sub(r"[ -]", "_", given["status"].lower()).replace("in_review", "review")
            return _about_task(given, view) | {"status": status}
    return given


def _about_task(given: Arguments, view: View) -> Arguments:
    """Return the arguments with the id of the named task, else of the one that the message is about."""
    task_id = given.pop("task", None) or given.pop("named", None) or (view.about and view.about.task_id)
    if not task_id:
        raise InvalidRequest("Say which task you mean, by its id, for example task_1.")
    return {"taskId": task_id} | given


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,@]+(?:and[\s@]+)?", text) if name]


def _planned(steps: list[str]) -> Arguments:
    titles = [title for title in (re.sub(r"^\s*(?:[-*]|\d+[.)])\s*", "", step).strip() for step in steps) if title]
    markdown = "\n".join(f"{number}. {title}" for number, title in enumerate(titles, 1))
    return {"markdown": markdown, "tasks": [{"title": title} for title in titles]}


def find_requests(view: View) -> list[ToolRequest]:
    """Return the requested tool calls; raise InvalidRequest for an explicit one that cannot be followed."""
    message = view.message
    ends = (re.split(r"\n[ \t]*\n", message)[-1], message.rpartition("\n")[2])
    for span in dict.fromkeys([message, *(without_mentions(end.strip()) for end in ends)]):
        requests = list(islice(_explicit(span, view), CALLS_MAX)) or list(_phrased(span, view))
        if requests:
            return requests
    return []


def _phrased(span: str, view: View) -> Iterator[ToolRequest]:
    """Yield the request of the first phrase that a line is."""
    first, _, below = span.partition("\n")
    # Short and single-spaced: the time of a pattern may grow with the square of the line's length.
    line = " ".join(first.split())
    for intent in INTENTS if len(line) <= REQUEST_CHARS_MAX else ():
        is_possible = intent.tool in view.tools and (span == view.message or not intent.whole)
        if is_possible and (match := re.fullmatch(intent.pattern + _END, line, re.IGNORECASE)):
            given = {name: text.strip() for name, text in match.groupdict().items() if text is not None}
            yield ToolRequest(intent.tool, _arguments(intent.tool, given, below.strip(), view))
            return


def _explicit(span: str, view: View) -> Iterator[ToolRequest]:
    """Yield the consecutive requests written as `use <tool> {arguments}`."""
    while (match := _USE.match(span)) is not None:
        tool, has_arguments = match["tool"], match["brace"] is not None
        if tool not in view.tools:
            if has_arguments:
                listed = ", ".join(sorted(view.tools)) or "none"
                raise InvalidRequest(f"There is no tool {tool} here. Available tools: {listed}.")
            return
        arguments: Arguments = {}
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
