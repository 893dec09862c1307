"""Generates the table of the guide to context windows, from requests that were made: `python -m tests.docs.windows`."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import uvloop
from msgspec import Struct, convert

from bench.prompt import parts_of, tokens_in
from carrel.agents import ToolRules
from carrel.kernel.settings import Settings
from tests.harness.server import open_http_server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "context-windows.md"
MARK = "<!-- Generated from requests that were made: python -m tests.docs.windows -->"
HEAD = (
    "| window | `history_chars_max` | tools and instructions | context | history | earlier messages | whole request |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)
# What the templates of models put around a message.
TOKENS_AROUND = 5
CHAT, AGENT = "web:chat-00000001", "writer"
PROSE = (
    "The office in Lyon reports that sales of bicycles went up again in May, while spare parts stayed where they were. "
    "Most of the growth came from two shops that had been closed for repairs in the spring. The warehouse asks for a "
    "decision on the second shift before the end of the month, because the people there need to plan their holidays. "
    "Prices of frames will rise by four per cent in July, so orders for the autumn should leave us before then. "
)
ANSWER = "Noted: sales in Lyon are up, the second shift needs a decision, and autumn orders should leave before July."


class Window(Struct, frozen=True):
    """A window, and the settings that fit requests into three quarters of it: the rest is for the answer."""

    tokens: int
    history_chars_max: int
    input_chars_max: int = 12_000
    context_chars_max: int = 2_200
    tools: tuple[str, ...] = ("*",)

    @property
    def settings(self) -> Settings:
        """The settings of a server for it."""
        delivery = {"history_chars_max": self.history_chars_max, "input_chars_max": self.input_chars_max}
        return convert({"delivery": delivery, "context": {"max_chars": self.context_chars_max}}, Settings)


WINDOWS = (
    Window(4_000, 8_000, 4_000, 800, ("board_search", "task_status", "request_input")),
    Window(8_000, 14_000, 6_000),
    Window(32_000, 84_000),
)


def table() -> str:
    """Return the generated part of the guide."""
    return "\n".join([MARK, "", *HEAD, *(_row(window, sent(window)) for window in WINDOWS), ""])


def written() -> str:
    """Return the generated part as it is in the guide."""
    return MARK + PAGE.read_text(encoding="utf-8").partition(MARK)[2]


@cache
def sent(window: Window) -> dict[str, Any]:
    """Return the request of a message in a chat that is longer than any of the windows."""
    with tempfile.TemporaryDirectory(prefix="carrel-windows-") as folder:
        return uvloop.run(_sent(window, f"sqlite:///{Path(folder) / 'windows.db'}"))


def tokens_of(body: dict[str, Any]) -> int:
    """Return how many tokens of a request a model reads."""
    parts = parts_of(body)
    return tokens_in(parts["tools"]) + tokens_in(parts["instructions"]) + _in_items(body["input"])


def _in_items(items: list[dict[str, Any]]) -> int:
    return sum(TOKENS_AROUND + sum(tokens_in(part["text"]) for part in item["content"]) for item in items)


async def _sent(window: Window, url: str) -> dict[str, Any]:
    async with open_http_server(url, settings=window.settings) as server:
        await server.make_agent(AGENT, tools=ToolRules(allow=window.tools))
        for _ in range(window.history_chars_max // (len(PROSE) + len(ANSWER)) + 4):
            await server.ask(f"{PROSE}\nsay {ANSWER}", CHAT, agent=AGENT)
        await server.indexed()
        await server.ask("What does the warehouse need from us?", CHAT, agent=AGENT)
        return server.agent.bodies[-1]


def _row(window: Window, body: dict[str, Any]) -> str:
    parts = parts_of(body)
    fixed = tokens_in(parts["tools"]) + tokens_in(parts["instructions"])
    context = [item for item in body["input"] if item["role"] == "developer"]
    earlier = [item for item in body["input"] if item["role"] != "developer"][:-1]
    counts = (
        window.tokens,
        window.history_chars_max,
        fixed,
        _in_items(context),
        _in_items(earlier),
        len(earlier),
        tokens_of(body),
    )
    return f"| {' | '.join(f'{count:,}' for count in counts)} |"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(MARK)[0] + table(), encoding="utf-8")
