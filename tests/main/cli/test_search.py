"""What `carrel search` requests from the server and prints."""

import json
from typing import Any

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel


def found(**kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer as the API gives it."""
    return {"topics": [], "tasks": [], "logs": [], "notes": [], **kinds}


def hit(score: float, **fields: Any) -> dict[str, Any]:
    return {"id": "x1", "score": score, "createdAt": "2999-01-01T00:00:00Z", **fields}


def test_what_was_found_is_listed_best_first(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/search", found(
        topics=[hit(0.4, id="t1", name="House")], tasks=[hit(0.2, id="k1", title="Paint it")],
        logs=[hit(0.9, id="e1", content="The door\nis green")], notes=[hit(0.6, id="n1", content="Green paint")],
    ))  # fmt: skip
    assert at("search", "green door").out.splitlines() == [
        "entry\t0.90\te1\t0s\tThe door is green",
        "note\t0.60\tn1\t0s\tGreen paint",
        "topic\t0.40\tt1\t0s\tHouse",
        "task\t0.20\tk1\t0s\tPaint it",
    ]
    limits = dict.fromkeys(("limitTopics", "limitTasks", "limitLogs", "limitNotes"), "10")
    assert tiny.asked[0].query == {"q": "green door", **limits}


def test_a_search_is_narrowed_to_a_topic_a_session_or_a_space(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/search", found())
    words = ("search", "x", "--topic", "t1", "--session", "main", "--space", "space-work", "--limit", "3", "--json")
    assert json.loads(at(*words).out)["topics"] == []
    asked = tiny.asked[0].query
    assert (asked["topicId"], asked["sessionKey"], asked["spaceId"], asked["limitLogs"]) == (
        "t1", "main", "space-work", "3",
    )  # fmt: skip


def test_nothing_found_is_no_failure(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/search", found())
    answer = at("search", "x")
    assert (answer.code, answer.out) == (0, "")
