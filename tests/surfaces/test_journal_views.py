"""An entry of the journal has the same id and text in every view."""

from typing import Any

import httpx

from carrel.kernel import REDACTED, redact
from carrel.kernel.limits import TOOL_MESSAGE_CHARS_MAX
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import ask, message
from tests.surfaces.a2a.a2a_calls import text_of as words_of
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api.test_changes import changes
from tests.surfaces.api_calls import send_and_wait

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


def by_id(lines: list[dict[str, Any]], text: str = "content") -> View:
    """What lines say, by id."""
    return {line["id"]: line[text] for line in lines}


@requirement("P.view.journal")
async def test_the_views_of_a_task_and_of_the_board_show_the_same_entries(either_server: HttpServer) -> None:
    async with either_server.client() as client:
        topic = (await client.post("/api/topics", json={"name": "Lanterns"})).json()["topic"]["id"]
        body = {"id": "lamps", "title": "Order lamps", "topicId": topic, "assignedAgentIds": ["main"]}
        assert (await client.post("/api/tasks", json=body)).status_code == 201
        key = "agent:main:task:lamps"
        for text in ("which lantern is green?", "the lantern of the pier"):
            await send_and_wait(client, text, sessionKey=key)
        await client.post("/api/log", json={"type": "conversation", "content": "a green lantern", "topicId": topic})
        await either_server.indexed()

        async def read(path: str, **query: Any) -> Any:
            answer = await client.get(path, params=query)
            assert answer.status_code == 200, answer.text
            return answer.json()

        journal = by_id((await changes(client, sinceSeq=0))["logs"])
        history = (await read("/api/tasks/lamps/history"))["messages"]
        by_tool = (await client.post("/agent/task_history", json={"taskId": "lamps"})).json()["messages"]
        found = await read("/api/search", q="lantern")
        context = await read("/api/context", sessionKey=key, q="which lantern?", mode="full", maxChars=12_000)
        views = {
            "log": by_id((await read("/api/log", limit=100))["logs"]),
            "log of the task": by_id((await read("/api/log", taskId="lamps"))["logs"]),
            "thread": by_id((await read("/api/tasks/lamps/thread"))["messages"]),
            "history": by_id(history),
            "task_history": by_id(by_tool),
            "session": spoken((await read(f"/api/sessions/{key}/history"))["messages"]),
            "search": by_id(found["logs"]),
            "timeline": {line["id"]: line["text"].split(": ", 1)[1] for line in context["data"]["timeline"]},
        }
    assert set(views["log"]) == set(journal)
    for name, view in views.items():
        assert view.items() <= journal.items(), name
        assert "which lantern is green?" in view.values(), name
    assert "a green lantern" in views["search"].values()
    assert views["thread"] == views["history"] == views["task_history"]
