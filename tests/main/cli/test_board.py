"""What `carrel spaces` and `carrel topics` request from the server and print."""

import json
from typing import Any

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel

SPACE = {"id": "space-work", "name": "Work", "connectivity": {"space-default": True, "space-home": False}}


def topic_of(**changes: Any) -> dict[str, Any]:
    """A topic as the API shows it, with some fields changed."""
    topic = {"id": "topic_1", "name": "Launch", "description": "", "status": "active", "spaceId": "space-work"}
    times = {"createdAt": "2999-01-01T00:00:00Z", "updatedAt": "2999-01-01T00:00:00Z"}
    return topic | {"tags": ["Work", "urgent"], "digest": None} | times | changes


def test_spaces_alone_lists_them_with_what_each_sees(at: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/spaces", {"spaces": [SPACE]})
    assert at("spaces").out == "space-work\tWork\tspace-default\n"
    assert json.loads(at("spaces", "list", "--json").out) == {"spaces": [SPACE]}


def test_all_pages_of_spaces_are_listed(at: Carrel, server: TinyServer) -> None:
    first, last = (
        {"spaces": [SPACE], "nextCursor": "abcd"},
        {"spaces": [SPACE | {"id": "space-late"}], "nextCursor": None},
    )
    server.does("GET", "/api/spaces", lambda asked: (200, last if asked.query.get("cursor") == "abcd" else first))
    assert [line.split("\t")[0] for line in at("spaces").out.splitlines()] == ["space-work", "space-late"]


def test_spaces_are_created_connected_and_removed(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/spaces", {"space": SPACE}, status=201)
    server.answers("PATCH", "/api/spaces/space-work/connectivity", {"space": SPACE})
    server.answers("DELETE", "/api/spaces/space-work", None, status=204)
    assert at("spaces", "create", "Work", "--hidden").out == "space-work\n"
    assert server.asked[0].body == {"name": "Work", "defaultVisible": False}
    assert at("spaces", "connect", "space-work", "space-home", "--off").out == "space-work sees: space-default\n"
    assert server.asked[1].body == {"connectivity": {"space-home": False}}
    assert at("spaces", "remove", "space-work").out == "Removed.\n"
    assert json.loads(at("spaces", "remove", "space-work", "--json").out) == {"removed": "space-work"}


def test_topics_alone_lists_them(at: Carrel, server: TinyServer) -> None:
    server.answers("GET", "/api/topics", {"topics": [topic_of()], "nextCursor": None})
    assert at("topics").out == "topic_1\tactive\tspace-work\t0s\tLaunch\n"
    assert server.asked[0].query == {"limit": "50"}
    at("topics", "list", "--space", "space-work", "--status", "archived", "--limit", "5")
    assert server.asked[1].query == {"spaceId": "space-work", "status": "archived", "limit": "5"}


def test_topics_are_created_shown_and_removed(at: Carrel, server: TinyServer) -> None:
    server.answers("POST", "/api/topics", {"topic": topic_of()}, status=201)
    server.answers("GET", "/api/topics/topic_1", {"topic": topic_of()})
    server.answers("GET", "/api/tasks", {"tasks": [{"id": "task_1", "status": "inbox", "title": "Paint"}]})
    server.answers("GET", "/api/topics/topic_1/thread", {"messages": [{"authorName": "Ann", "content": "Hello"}]})
    server.answers("DELETE", "/api/topics/topic_1", None, status=204)
    assert at("topics", "create", "Launch", "--tag", "Work", "--tag", "urgent").out == "topic_1\n"
    assert server.asked[0].body == {"name": "Launch", "tags": ["Work", "urgent"]}
    shown = at("topics", "show", "topic_1").out
    assert all(text in shown for text in ("Work, urgent", "task_1  inbox  Paint", "Hello"))
    assert json.loads(at("topics", "show", "topic_1", "--json").out)["tasks"][0]["id"] == "task_1"
    assert at("topics", "remove", "topic_1").out == "Removed.\n"
