"""An entry of the journal has the same id and text in every view."""

from typing import Any

import httpx
import pytest

from carrel.kernel import REDACTED, redact
from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import ask, message
from tests.surfaces.a2a.a2a_calls import text_of as words_of
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api.test_changes import changes

pytestmark = pytest.mark.anyio
SECRET = "sk-abcdefghijklmnopqrstuvwxyz"
LONG = "word " * TOOL_MESSAGE_CHARS_MAX
View = dict[str, str]


async def talk(client: httpx.AsyncClient) -> tuple[str, View]:
    """Say a few things in one context; its session key, and what A2A shows of it by id, senders' ids included."""
    key, view = "", View()
    for text in ("hello", f"my key is {SECRET}", LONG, 'do [["session_status", {}]]'):
        sent = await ask(client, "SendMessage", message=message(text, contextId="views"))
        view |= {line["messageId"]: words_of(line) for line in sent["task"]["history"]}
        key = sent["task"]["metadata"]["sessionKey"]
    return key, view


def spoken(messages: list[dict[str, Any]]) -> View:
    """What was said in a transcript, by id."""
    return {line["id"]: line["content"][0]["text"] for line in messages if line["role"] in ("user", "assistant")}


@requirement("P.view.journal")
async def test_every_view_of_the_journal_shows_an_entry_with_the_same_id_and_words(either_server: HttpServer) -> None:
    async with either_server.client() as client, follow(client, last_event_id=0, events="log") as follower:
        key, over_a2a = await talk(client)
        logs = (await changes(client, sinceSeq=0))["logs"]
        journal = {log["id"]: log["content"] for log in logs if log["role"] in ("user", "assistant")}
        senders = {log["id"]: log["source"]["messageId"] for log in logs if log["role"] == "user"}
        await follower.next()
        streamed = [(await follower.next()).body["data"]["log"] for _ in logs]
        history = (await client.get(f"/api/sessions/{key}/history", params={"includeTools": "true"})).json()
        by_tool = (await client.post("/agent/sessions_history", json={"sessionKey": key, "includeTools": True})).json()
    assert len(journal) == 8
    assert streamed == logs
    assert {senders.get(name, name): text for name, text in journal.items()} == over_a2a
    assert spoken(history["messages"]) == journal
    shown = spoken(by_tool["messages"])
    assert shown.keys() == journal.keys()
    for name, text in shown.items():
        whole = redact(journal[name])
        assert text == whole or (text.endswith("…") and whole.startswith(text[:-1]) and len(whole) > len(text))
    assert SECRET not in str(by_tool)
    assert REDACTED in str(by_tool)
    assert [line["id"] for line in by_tool["messages"]] == [line["id"] for line in history["messages"]]
