"""Generates the guide with what an agent is sent, from requests that were made: `python -m tests.docs.requests`."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import uvloop

from bench.prompt import collect
from tests.docs import occasions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "requests.md"
Body = dict[str, Any]

# What stands before it is written by hand.
MARK = "<!-- Generated from requests that were made: python -m tests.docs.requests -->"
KINDS = {
    "hello": "A first message in a session",
    "task message": "A message about a task",
    "assignment": "An assignment",
    "heartbeat": "A heartbeat",
    "announce step": "A sub-agent is asked for notes on its result",
}
_ID = re.compile(r"\b([a-z]+)_[0-9a-z]{26}\b")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b")
_MINUTE = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d")


def requests() -> str:
    """Return the generated part of the guide: the first request of each kind."""
    with tempfile.TemporaryDirectory(prefix="carrel-requests-") as folder:
        sent = uvloop.run(collect(f"sqlite:///{Path(folder) / 'requests.db'}")).by_kind
        further = uvloop.run(occasions.collect(f"sqlite:///{Path(folder) / 'further.db'}"))
    shown = {title: sent[kind] for kind, title in KINDS.items()} | further
    return "\n".join([MARK, "", *(_section(title, body) for title, body in shown.items()), _tools(sent)])


def written() -> str:
    """Return the generated part as it is in the guide."""
    return MARK + PAGE.read_text(encoding="utf-8").partition(MARK)[2]


def _section(title: str, body: Body) -> str:
    names = ", ".join(f"`{tool['name']}`" for tool in body["tools"]) or "none"
    said = "\n\n".join(_item(item) for item in body["input"])
    shown = f"instructions:\n\n{body['instructions']}\n\ninput:\n\n{said}"
    return f"## {title}\n\n```text\n{_plain(shown)}\n```\n\nTools: {names}\n"


def _item(item: Body) -> str:
    if item["type"] != "message":
        return f"[{item['type']}] {item.get('arguments', item.get('output'))}"
    texts = [part["text"] for part in item["content"]]
    return f"[{item['role']}]\n" + "\n\n".join(texts)


def _tools(sent: dict[str, Body]) -> str:
    """The tools of a chat in full, one in a line."""
    lines = "\n".join(json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in sent["hello"]["tools"])
    return f"## The tools of a chat, in full\n\n```text\n{lines}\n```\n"


def _plain(text: str) -> str:
    """Return a text with ids numbered in their order, and one time for all."""
    known: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return known.setdefault(found[0], f"{found[1]}_{len(known) + 1}")

    return _MINUTE.sub("2026-01-31 12:00", _UUID.sub("<uuid>", _ID.sub(numbered, text)))


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(MARK)[0] + requests(), encoding="utf-8")
