"""The board of a running server, as a program outside uses it: what is sent is found and shown, within bounds."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from carrel.kernel import elapsed_seconds
from tests.harness.process import ANSWER_SECONDS, Start
from tests.requirements.mark import requirement

SESSION = "discord-4711"
HOME = "discord-0815"


@pytest.fixture
def client(start: Start) -> Iterator[httpx.Client]:
    """A board with two spaces that do not see each other, a topic and a note in each, and talk in one."""
    with start(CARREL_CLASSIFIER__INTERVAL_SECONDS="1").client() as opened:
        for name in ("Work", "Home"):
            post(opened, "/api/spaces", name=name, defaultVisible=False)
            topic = post(opened, "/api/topics", name=f"Boiler at {name}", spaceId=f"space-{name.lower()}")["topic"]
            said = f"The boiler at {name.lower()} leaks at the left valve."
            sent = {"sessionKey": SESSION if name == "Work" else HOME, "channel": "discord", "messageId": name}
            entry = post(
                opened, "/api/log", type="conversation", content=said, agentId="user", topicId=topic["id"], source=sent
            )["log"]
            post(opened, "/api/notes", content=f"Valve part number: {name}-77", relatedLogId=entry["id"])
            post(opened, "/api/tasks", title=f"Order a valve for {name}", topicId=topic["id"], pinned=True)
        until(lambda: get(opened, "/api/search", q="valve part number")["notes"], "the note was never found")
        yield opened


def until(found: Callable[[], Any], otherwise: str) -> None:
    """Look again until something is there."""
    deadline = elapsed_seconds() + ANSWER_SECONDS
    while not found():
        assert elapsed_seconds() < deadline, otherwise


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def context(client: httpx.Client, **query: Any) -> Any:
    return get(client, "/api/context", **{"sessionKey": SESSION, "q": "Which valve is it?", **query})


@requirement("S4.accept")
def test_a_context_is_never_empty_and_never_longer_than_asked_for(client: httpx.Client) -> None:
    for most in (200, 400, 2200, 12000):
        block = context(client, maxChars=most)["block"]
        assert 0 < len(block) <= most
        assert len(block.encode("utf-16-le")) // 2 <= most


@requirement("S4.accept")
def test_a_cheap_context_recalls_nothing_and_a_full_one_what_fits_the_question(client: httpx.Client) -> None:
    cheap, full = context(client, mode="cheap"), context(client, mode="full")
    assert {layer[0] for layer in cheap["layers"]} == {"A"}
    assert "B:semantic" in full["layers"]
    assert "Work-77" in full["block"]
    assert "Work-77" not in cheap["block"]
    quiet, board = context(client, q="ok"), context(client, q="ok", sessionKey=board_key(client))
    assert ("B:semantic" in quiet["layers"], "B:semantic" in board["layers"]) == (False, True)


def board_key(client: httpx.Client) -> str:
    topic = next(one for one in get(client, "/api/topics")["topics"] if one["name"] == "Boiler at Work")
    return f"clawboard:topic:{topic['id']}"


@requirement("S4.accept")
def test_nothing_of_a_space_that_is_hidden_is_found_or_shown(client: httpx.Client) -> None:
    for path, more in (
        ("/api/context", {"mode": "patient"}),
        ("/api/search", {}),
        ("/api/topics", {}),
        ("/api/tasks", {}),
    ):
        asked = {"q": "boiler valve"} if path in ("/api/context", "/api/search") else {}
        text = client.get(path, params={"sessionKey": SESSION, **asked, **more}).text
        assert "Work" in text, path
        assert "Home" not in text, path
        everywhere = client.get(path, params={**asked, "allowedSpaceIds": "space-home"}).text
        assert "Home" in everywhere, path
    tagged = post(client, "/api/topics", name="Both", spaceId="space-work", tags=["space:Home"])["topic"]
    names = {one["id"] for one in get(client, "/api/topics", spaceId="space-home")["topics"]}
    assert tagged["id"] in names


@requirement("S4.accept")
def test_a_run_is_shown_the_block_and_what_it_repeats_of_it_is_not_stored(client: httpx.Client) -> None:
    key = "agent:main:web:a-conversation-of-work"
    post(client, "/api/classifier/session-routing", sessionKey=key, topicId=board_key(client).rpartition(":")[2])
    run = client.post("/api/runs", json={"sessionKey": key, "message": "Which valve leaks?"}).json()["runId"]
    assert get(client, f"/api/runs/{run}/wait", timeoutSeconds=20)["status"] == "ok"
    shown = get(client, f"/api/runs/{run}/receipt")["steps"][0]["context"]
    assert "Boiler at Work" in shown["block"]
    assert "Home" not in shown["block"]
    assert all(item["reason"] and item["scope"] for item in shown["items"])
    quoted = f"[CLAWBOARD_CONTEXT_BEGIN]\n{shown['block']}\n[CLAWBOARD_CONTEXT_END]\nThe left one."
    source = {"channel": "discord", "sessionKey": SESSION, "messageId": "reply-1"}
    entry = post(client, "/api/log", type="conversation", content=quoted, agentId="main", source=source)["log"]
    assert entry["content"] == "The left one."


@requirement("S4.accept")
def test_a_digest_changes_no_order_and_a_search_no_answer(client: httpx.Client) -> None:
    before = [(one["id"], one["updatedAt"]) for one in get(client, "/api/topics")["topics"]]
    found = [hit["id"] for hit in get(client, "/api/search", q="boiler")["topics"]]
    assert client.post("/api/digests/run", json={}).status_code == 202
    until(lambda: any(one["digest"] for one in get(client, "/api/topics")["topics"]), "no digest was written")
    assert [(one["id"], one["updatedAt"]) for one in get(client, "/api/topics")["topics"]] == before
    context(client, mode="full")
    assert [hit["id"] for hit in get(client, "/api/search", q="boiler")["topics"]] == found
