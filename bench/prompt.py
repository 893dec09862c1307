"""Prompt: what the first request of each kind of run weighs, part by part, and whether it holds its budgets."""

import json
import re
import tempfile
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

import uvloop
from msgspec import Struct
from tokenizers import Tokenizer

from bench.figures import Bar, Figure, at_least, at_most, plain, tell
from tests.delivery.tasks import assign, make_task
from tests.harness.engine import until_found
from tests.harness.server import HttpServer, open_http_server

NAME = "prompt"
PARTS = ("tools", "instructions", "input", "rest")
# In bytes. What a run is sent in all depends on what was said; tools and instructions are ours.
HELLO_BYTES_MAX = 9_000
# Text that stands twice in one request is read and paid for twice.
TWICE_CHARS_MAX = 20
SHARED_MIN = 0.8
AGENT = "writer"
TITLES = ("Quarterly report on sales", "Overview of the stores abroad", "Prepare the yearly report")
DESCRIPTION = "Say what was sold in each region, what has changed since the last quarter, and why."
# What names something stands wherever it is named: ids, keys of sessions, titles.
_NAMES = re.compile(rf"\b[a-z]+_[0-9a-z]{{26}}\b|\bagent:[\w:@.-]+|{'|'.join(TITLES)}")


class Budget(Struct, frozen=True):
    """The most bytes that the tools and the instructions of a kind of run may have."""

    tools: int
    instructions: int


BUDGETS = {
    "hello": Budget(tools=7_500, instructions=1_500),
    "task message": Budget(tools=7_500, instructions=2_000),
    "assignment": Budget(tools=7_500, instructions=2_500),
    "heartbeat": Budget(tools=6_000, instructions=2_000),
    "announce step": Budget(tools=len("[]"), instructions=1_500),
}


class Prompts(Struct, frozen=True):
    """The first request of each kind of run, and that of the same agent about another task."""

    by_kind: dict[str, dict[str, Any]]
    other_task: dict[str, Any]


def measure(_durability: str) -> list[Figure]:
    """The bytes and tokens of five requests, text that stands twice, and what requests about two tasks share."""
    tell("prompt: one request of each kind")
    with tempfile.TemporaryDirectory(prefix="carrel-bench-prompt-") as name:
        prompts = uvloop.run(collect(f"sqlite:///{Path(name) / 'prompt.db'}"))
    figures = [figure for kind, body in prompts.by_kind.items() for figure in _weighed(kind, body)]
    shared = shared_beginning(prompts.by_kind["task message"], prompts.other_task)
    return [*figures, plain(NAME, "shared by requests about two tasks", "of it", shared, bar=at_least(SHARED_MIN))]


def _weighed(kind: str, body: dict[str, Any]) -> list[Figure]:
    parts, budget = parts_of(body), BUDGETS[kind]
    bars = {"tools": at_most(budget.tools), "instructions": at_most(budget.instructions)}
    whole = sum(len(part.encode()) for part in parts.values())
    tokens = sum(map(tokens_in, parts.values()))
    twice = at_most(TWICE_CHARS_MAX)
    found = longest_repeated(body)
    return [
        plain(NAME, kind, "bytes", whole, bar=_whole_bar(kind), note=f"{tokens:,} tokens"),
        *(
            plain(NAME, f"{kind}: {name}", "bytes", len(part.encode()), bar=bars.get(name),
                  note=f"{tokens_in(part):,} tokens")
            for name, part in parts.items()
        ),
        plain(NAME, f"{kind}: longest text that stands twice", "characters", len(found), bar=twice, note=found or None),
    ]  # fmt: skip


def _whole_bar(kind: str) -> Bar | None:
    return at_most(HELLO_BYTES_MAX) if kind == "hello" else None


async def collect(url: str) -> Prompts:
    """Let a server on the store at `url` make one run of each kind; return what its model was sent."""
    async with open_http_server(url) as server:
        await server.make_agent(AGENT)
        await server.ask("hello", agent=AGENT)
        hello = server.agent.bodies[-1]
        tasks = [await make_task(server, title, description=DESCRIPTION) for title in TITLES]
        *asked, assigned = tasks
        messages = []
        for task_id in asked:
            await server.ask("Which region has sold most?", f"task:{task_id}", agent=AGENT, task_id=task_id)
            messages.append(server.agent.bodies[-1])
        await assign(server, assigned, AGENT)
        assignment = server.agent.bodies[-1]
        named = f'- {tasks[0]} "{TITLES[0]}": something new'
        await server.ask(f"Heartbeat. Look at these tasks:\n{named}", agent=AGENT, kind="heartbeat")
        heartbeat = server.agent.bodies[-1]
        announce = await _announce(server)
    by_kind = dict(zip(BUDGETS, (hello, messages[0], assignment, heartbeat, announce), strict=True))
    return Prompts(by_kind, messages[1])


async def _announce(server: HttpServer) -> dict[str, Any]:
    """Let the agent give work to a sub-agent; return the request that asks the sub-agent for its notes."""
    await server.ask('do [["sessions_spawn", {"task": "say four"}]]', agent=AGENT)

    async def by_child() -> list[dict[str, Any]]:
        return [body for body in server.agent.bodies if ":subagent:" in body["user"]]

    return (await until_found(by_child, lambda found: len(found) > 1))[-1]


def parts_of(body: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a request as they are sent, in the order in which providers cache them."""
    rest = {name: value for name, value in body.items() if name not in PARTS}
    return {name: _sent(body.get(name, "")) for name in PARTS[:-1]} | {"rest": _sent(rest)}


def _sent(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, separators=(",", ":"))


@cache
def _tokenizer() -> Tokenizer:
    """Load the tokenizer of Llama 2, which the package of the static embeddings brings."""
    package = find_spec("wordllama")
    assert package is not None
    assert package.origin is not None
    return Tokenizer.from_file(str(Path(package.origin).parent / "tokenizers/l2_supercat_tokenizer_config.json"))


def tokens_in(text: str) -> int:
    """Return how many tokens a text has; models of other makers count a little differently."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


def shared_beginning(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return how much of a request begins another one too: tools, then instructions, then input."""
    texts = ["".join(list(parts_of(body).values())[:-1]) for body in (one, other)]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    return shared / max(map(len, texts))


def longest_repeated(body: dict[str, Any]) -> str:
    """Return the longest text that stands twice in what a model reads; names are not text."""
    text = "\0".join(_NAMES.sub("", part) for part in _texts([body.get("instructions", ""), body["input"]]))
    longest = ""
    for start in range(len(text)):
        # Each round looks only for something longer than what was found.
        while (candidate := text[start : start + len(longest) + 1]) in text[start + 1 :]:
            if "\0" in candidate or len(candidate) <= len(longest):
                break
            longest = candidate
    return longest


def _texts(part: Any) -> list[str]:
    """Return every text of instructions or input; a tool call counts with its arguments."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, list):
        return [text for one in part for text in _texts(one)]
    return _texts([part[name] for name in ("content", "text", "arguments", "output") if name in part])
