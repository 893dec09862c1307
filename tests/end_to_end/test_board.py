"""The board of a running server, as a program outside uses it: what is sent is found and shown, within bounds."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from carrel.kernel import elapsed_seconds
from tests.harness.process import ANSWER_SECONDS, Start
from tests.requirements.mark import requirement

SESSION = "discord-4711"
HOME = "discord-0815"
CONVERSATION = "agent:main:web:a-conversation-of-work"
DESK = "agent:main:main"


@contextmanager
def board(start: Start, **environment: str) -> Iterator[httpx.Client]:
    """A board with two spaces that do not see each other, a topic and a note in each, and talk in one."""
    with start(**environment).client() as opened:
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
        until(lambda: get(opened, "/api/health")["index"]["pending"] == 0, "the index never caught up")
        yield opened


@pytest.fixture
def quiet(start: Start) -> Iterator[httpx.Client]:
    """A board on which nothing changes by itself."""
    with board(start, CARREL_CLASSIFIER__MODE="off") as opened:
        yield opened


@pytest.fixture
def sorted_board(start: Start) -> Iterator[httpx.Client]:
    """The same board with a classifier, which writes digests."""
    with board(start, CARREL_CLASSIFIER__INTERVAL_SECONDS="1") as opened:
        yield opened


def until(found: Callable[[], Any], otherwise: str) -> None:
    """Look again until something is there."""
    deadline = elapsed_seconds() + ANSWER_SECONDS
    while not found():
        assert elapsed_seconds() < deadline, otherwise


def get(quiet: httpx.Client, path: str, **query: Any) -> Any:
    answer = quiet.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(quiet: httpx.Client, path: str, **body: Any) -> Any:
    answer = quiet.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def context(quiet: httpx.Client, **query: Any) -> Any:
    return get(quiet, "/api/context", **{"sessionKey": SESSION, "q": "Which valve is it?", **query})


@requirement("S4.accept")
def test_a_context_is_never_empty_and_never_longer_than_asked_for(quiet: httpx.Client) -> None:
    for most in (200, 400, 2200, 12000):
        found = context(quiet, maxChars=most)
        block = found["block"]
        assert found["layers"], "something stands below the heading"
        assert 0 < len(block) <= most
        assert len(block.encode("utf-16-le")) // 2 <= most


@requirement("S4.accept")
def test_a_cheap_context_recalls_nothing_and_a_full_one_what_fits_the_question(quiet: httpx.Client) -> None:
    cheap, full = context(quiet, mode="cheap"), context(quiet, mode="full")
    assert {layer[0] for layer in cheap["layers"]} == {"A"}
    assert "B:semantic" in full["layers"]
    assert "Work-77" in full["block"]
    assert "Work-77" not in cheap["block"]
    anywhere, board = context(quiet, q="ok"), context(quiet, q="ok", sessionKey=board_key(quiet))
    assert ("B:semantic" in anywhere["layers"], "B:semantic" in board["layers"]) == (False, True)


def board_key(quiet: httpx.Client) -> str:
    topic = next(one for one in get(quiet, "/api/topics")["topics"] if one["name"] == "Boiler at Work")
    return f"clawboard:topic:{topic['id']}"


@requirement("S4.accept")
def test_nothing_of_a_space_that_is_hidden_is_found_or_shown(quiet: httpx.Client) -> None:
    for path, more in (
        ("/api/context", {"mode": "patient"}),
        ("/api/search", {}),
        ("/api/topics", {}),
        ("/api/tasks", {}),
    ):
        asked = {"q": "boiler valve"} if path in ("/api/context", "/api/search") else {}
        text = quiet.get(path, params={"sessionKey": SESSION, **asked, **more}).text
        assert "Work" in text, path
        assert "Home" not in text, path
        everywhere = quiet.get(path, params={**asked, "allowedSpaceIds": "space-home"}).text
        assert "Home" in everywhere, path
    tagged = post(quiet, "/api/topics", name="Both", spaceId="space-work", tags=["space:Home"])["topic"]
    names = {one["id"] for one in get(quiet, "/api/topics", spaceId="space-home")["topics"]}
    assert tagged["id"] in names


def route_to_work(quiet: httpx.Client) -> None:
    """Have a conversation belong to the topic of the space Work."""
    topic = board_key(quiet).rpartition(":")[2]
    post(quiet, "/api/classifier/session-routing", sessionKey=CONVERSATION, topicId=topic)


def first_step(quiet: httpx.Client, message: str) -> Any:
    """Ask an agent in that conversation; return the first step of the receipt."""
    run = quiet.post("/api/runs", json={"sessionKey": CONVERSATION, "message": message}).json()["runId"]
    assert get(quiet, f"/api/runs/{run}/wait", timeoutSeconds=20)["status"] == "ok"
    return get(quiet, f"/api/runs/{run}/receipt", body=1)["steps"][0]


@requirement("S4.accept")
def test_a_run_is_shown_to_the_byte_what_the_api_answers_for_its_session_and_message(quiet: httpx.Client) -> None:
    route_to_work(quiet)
    for message, layers in (("Which valve leaks?", {"A:routing_memory", "B:semantic"}), ("ok", {"A:routing_memory"})):
        told = context(quiet, sessionKey=CONVERSATION, q=message, form="run")
        step = first_step(quiet, message)
        assert layers <= set(told["layers"])
        assert step["context"]["block"] == told["block"]
        assert step["context"]["layers"] == told["layers"]
        sent = [item["content"][0]["text"] for item in json.loads(step["body"])["input"] if item["role"] == "developer"]
        assert "\n".join(sent[0].split("\n")[2:-1]) == told["block"]


@requirement("S4.accept")
def test_every_tool_of_the_board_gives_at_every_door_what_the_api_gives(quiet: httpx.Client) -> None:
    secret = post(quiet, "/api/tokens", name="agent", kind="agent", agentId="main")["secret"]
    headers = {"Authorization": f"Bearer {secret}", "x-openclaw-session-key": DESK}
    topic, task = (get(quiet, f"/api/{kind}", sessionKey=SESSION)[kind][0]["id"] for kind in ("topics", "tasks"))
    (entry,) = (log["id"] for log in get(quiet, "/api/log", sessionKey=SESSION, type="conversation")["logs"])
    query = {"q": "Which valve is it?", "mode": "full"}
    sizes = {"maxChars": 6000, "workingSetLimit": 8, "timelineLimit": 8}
    with httpx.Client(base_url=quiet.base_url, headers=headers, timeout=ANSWER_SECONDS) as agent:
        offered = {tool["name"]: tool["aliases"] for tool in get(agent, "/agent")["tools"]}
        board_tools = {name for name in offered if name.startswith("clawboard")}
        expected: dict[str, tuple[dict[str, Any], Any]] = {
            "search": ({"q": "boiler valve"}, ids(get(agent, "/api/search", sessionKey=DESK, q="boiler valve"))),
            "context": (query, get(agent, "/api/context", sessionKey=DESK, **query, **sizes)["block"]),
            "get_topic": ({"id": topic}, get(agent, f"/api/topics/{topic}")["topic"]),
            "get_task": ({"id": task}, get(agent, f"/api/tasks/{task}")["task"]),
            "get_log": ({"id": entry}, get(agent, f"/api/log/{entry}")["log"]),
            "create_note": ({"relatedLogId": entry, "text": "Use copper."}, "Use copper."),
            "update_task": ({"id": task, "priority": "high"}, "high"),
        }
        assert board_tools == {f"clawboard_{name}" for name in expected}
        read: dict[str, Callable[[Any], Any]] = {
            "search": ids, "context": lambda one: one["block"], "create_note": lambda one: one["log"]["content"],
            "update_task": lambda one: one["task"]["priorityLabel"],
        }  # fmt: skip
        for name, (arguments, wanted) in expected.items():
            for one in given(agent, name, offered[f"clawboard_{name}"], arguments):
                shown = read[name](one) if name in read else one[name.removeprefix("get_")]
                assert shown == wanted, name
    assert get(quiet, f"/api/tasks/{task}")["task"]["priorityLabel"] == "high"
    notes = get(quiet, "/api/notes", relatedLogId=entry)["logs"]
    assert {note["content"] for note in notes} == {"Valve part number: Work-77", "Use copper."}
    assert {note["topicId"] for note in notes} == {topic}


def ids(found: Any) -> list[list[str]]:
    """Return the ids of what a search has found."""
    return [[hit["id"] for hit in found[kind]] for kind in ("topics", "tasks", "logs", "notes")]


def given(agent: httpx.Client, name: str, aliases: list[str], arguments: dict[str, Any]) -> list[Any]:
    """Return what a tool gives under each of its names, over HTTP and over MCP, once it refused an unknown field."""
    names = [f"clawboard_{name}", *aliases]
    assert f"board_{name}" in names
    unknown = agent.post(f"/agent/board_{name}", json={**arguments, "spaceId": "space-home"})
    assert (unknown.status_code, unknown.json()["error"].get("field")) == (400, "spaceId")
    found = [post(agent, f"/agent/{one}", **arguments) for one in names]
    for one in names[0], f"board_{name}":
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": one, "arguments": arguments}}
        answer = agent.post("/mcp", json=call, headers={"Accept": "application/json"})
        found.append(answer.json()["result"]["structuredContent"])
    return found


@requirement("S4.accept")
def test_a_run_is_shown_the_block_and_what_it_repeats_of_it_is_not_stored(quiet: httpx.Client) -> None:
    route_to_work(quiet)
    shown = first_step(quiet, "Which valve leaks?")["context"]
    assert "Boiler at Work" in shown["block"]
    assert "Home" not in shown["block"]
    assert all(item["reason"] and item["scope"] for item in shown["items"])
    quoted = f"[CLAWBOARD_CONTEXT_BEGIN]\n{shown['block']}\n[CLAWBOARD_CONTEXT_END]\nThe left one."
    source = {"channel": "discord", "sessionKey": SESSION, "messageId": "reply-1"}
    entry = post(quiet, "/api/log", type="conversation", content=quoted, agentId="main", source=source)["log"]
    assert entry["content"] == "The left one."


@requirement("S4.accept")
def test_a_digest_changes_no_order_and_a_search_no_answer(sorted_board: httpx.Client) -> None:
    before = [(one["id"], one["updatedAt"]) for one in get(sorted_board, "/api/topics")["topics"]]
    found = [hit["id"] for hit in get(sorted_board, "/api/search", q="boiler")["topics"]]
    assert sorted_board.post("/api/digests/run", json={}).status_code == 202
    until(lambda: any(one["digest"] for one in get(sorted_board, "/api/topics")["topics"]), "no digest was written")
    assert [(one["id"], one["updatedAt"]) for one in get(sorted_board, "/api/topics")["topics"]] == before
    context(sorted_board, mode="full")
    assert [hit["id"] for hit in get(sorted_board, "/api/search", q="boiler")["topics"]] == found
