"""What the built-in agent can see: a request's body split into message, lines, tools and results.

The heading of a message about a task is ours, but the titles and names in it were written by others. Only lines in a
known position count.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from carrel.gateway.builtin.phrases import is_own
from carrel.gateway.model import Item, Step
from carrel.gateway.prompt import read_items

LINES_MAX = 5_000
ASSIGNED = "assigned you"
# A person, a program or the server wrote to the agent itself.
DIRECT = "direct"
# Thread messages of others and changes of a task ask for nothing.
FOR_INFORMATION = ("wrote in the thread", "changed the task")
# For these, the message is what somebody said; otherwise it is our own sentence about a change.
_SAID = ("mentioned you", "wrote in the thread", DIRECT, "asks you for a response")
_ANCHORS = re.compile(r"\[(?P<notified>notification \S+ · )?message \S+ · task (?P<task>\S+)\]")
_NOW = r"It is now [\d: -]{16} UTC\."
_SENT = r"[\d: -]{16}(?: UTC, just now)?:"
_TIME = re.compile(rf"{_NOW}|(?:{_NOW} )?(?:(?:\d+ m|M)essage.* at|Sent at|At) {_SENT}")
_ORIGIN = re.compile(
    rf"(?:{_NOW} )?Message from (?:.* \()?(?P<kind>a person|an agent|the server)\)?"
    rf"(?:, wh(?:o|ich) (?P<reason>[a-z ]+))?, at {_SENT}"
)
_MENTIONS = re.compile(r'(?:@(?:"[^"\n]{1,200}"|[\w.-]{1,200}?)[,:]?[ \t]+){1,20}')
_ID = re.compile(r"\b(?:agent|art|ent|goal|log|mem|msg|note|plan|run|ses|space|task|topic)_[A-Za-z0-9]+\b")
_NO_CONTENT = re.compile(r"\W*|\[/?[A-Z_]+\]|#+ .*|[^:]{1,40}:")
# In a context block: the sentence that explains it, and the message itself.
_FRAME = re.compile(r"^(?:\[CARREL_CONTEXT_BEGIN\]\n.*|Current user intent: .*|Mode: .*)$", re.MULTILINE)


class Line(NamedTuple):
    source: str
    text: str


class Result(NamedTuple):
    """What a tool returned since the newest message."""

    tool: str
    output: str


class About(NamedTuple):
    """The task of a message, and why the agent got it; `reason` is empty if the heading had no space for it.

    `is_said`: the message is what somebody said, not a sentence about a title or a change. `by_server`: only the server
    caused it.
    """

    task_id: str
    title: str
    reason: str
    is_said: bool
    by_server: bool


class View(Struct, frozen=True, kw_only=True):
    """Everything an answer may use: `message` is the run's newest one, `answers` are the agent's own earlier ones.

    `about` is the task that the message is about; it `is_request` if people wrote all of it.
    """

    message: str
    about: About | None
    is_request: bool
    lines: tuple[Line, ...]
    answers: tuple[str, ...]
    tools: frozenset[str]
    results: tuple[Result, ...]


def read_view(step: Step) -> View:
    """Read a step; raise ValueError if its body is not a request."""
    request, items, newest = read_items(step)
    texts = [_texts(item) for item in items]
    *around, message = texts[newest] if newest >= 0 else [""]
    about = _heading(around[-1]) if around else None
    # Of a heading, only the lines that may have others' words are quoted.
    beside = "\n".join(text if _heading(text) is None else text.partition("\n")[2] for text in around)
    offered = [tool.name for tool in request.tools or () if tool.type == "function"]
    has_tools = request.tools is not None and request.tool_choice != "none"
    return View(
        message=without_mentions(message.strip()),
        about=about,
        is_request=step.is_request and (about is None or about.is_said),
        lines=(*_lines(items, texts, newest), *_split("this notification", beside))[-LINES_MAX:],
        answers=tuple("\n".join(texts[at]) for at in range(newest) if items[at].get("role") == "assistant"),
        tools=step.callable_tools.union(offered) if has_tools else frozenset(),
        results=tuple(_results(items, newest)),
    )


def _heading(text: str) -> About | None:
    """Read the heading of a message; None for any other text."""
    first, *more = text.splitlines() or [""]
    anchors = _ANCHORS.fullmatch(first)
    if anchors is None:
        return None
    # Only the line right before the message; similar lines elsewhere are not ours.
    origin = _ORIGIN.fullmatch(more[-1]) if more else None
    reason = "" if origin is None else origin["reason"] or DIRECT
    named = f"Task {anchors['task']}: "
    title = more[0].removeprefix(named) if more and more[0].startswith(named) else ""
    is_said = reason in _SAID or not (reason or anchors["notified"])
    return About(anchors["task"], title, reason, is_said, origin is not None and origin["kind"] == "the server")


def without_mentions(text: str) -> str:
    """Return a text without the mentions at its beginning."""
    found = _MENTIONS.match(text)
    return text if found is None else text[found.end() :].lstrip()


def _lines(items: list[Item], texts: list[list[str]], newest: int) -> Iterator[Line]:
    position = 0
    for index, (item, said) in enumerate(zip(items, texts, strict=True)):
        role, source, text = item.get("role"), "context block", "\n".join(said)
        if role in ("user", "assistant"):
            position += 1
            source = f"{role}, message {position}"
        elif isinstance(role, str):
            text = _FRAME.sub("", text)
        if index != newest and isinstance(role, str) and not (role == "assistant" and is_own(text)):
            yield from _split(source, text)


def _split(source: str, text: str) -> Iterator[Line]:
    """Yield the lines worth quoting, without headings, labels and rulers; an id in a line is added to its source."""
    for line in (line.strip() for line in text.splitlines()):
        if not _NO_CONTENT.fullmatch(line) and not _TIME.fullmatch(line):
            found = _ID.search(line)
            yield Line(f"{source}, {found[0]}" if found else source, line)


def _texts(item: Item) -> list[str]:
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)] or [""]


def _results(items: list[Item], newest: int) -> Iterator[Result]:
    names = {item.get("call_id"): str(item.get("name", "")) for item in items if item.get("type") == "function_call"}
    for item in items[newest + 1 :]:
        if item.get("type") == "function_call_output":
            output = item.get("output")
            yield Result(
                names.get(item.get("call_id"), "The tool"), output if isinstance(output, str) else json.dumps(output)
            )
