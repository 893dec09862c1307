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


def test_spaces_alone_lists_them_with_what_each_sees(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/spaces", {"spaces": [SPACE]})
    assert at("spaces").out == "space-work\tWork\tspace-default\n"
    assert json.loads(at("spaces", "list", "--json").out) == {"spaces": [SPACE]}


def test_all_pages_of_spaces_are_listed(at: Carrel, tiny: TinyServer) -> None:
    first, last = (
        {"spaces": [SPACE], "nextCursor": "abcd"},
        {"spaces": [SPACE | {"id": "space-late"}], "nextCursor": None},
    )
    tiny.does("GET", "/api/spaces", lambda asked: (200, last if asked.query.get("cursor") == "abcd" else first))
    assert [line.split("\t")[0] for line in at("spaces").out.splitlines()] == ["space-work", "space-late"]


def test_spaces_are_created_connected_and_removed(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/spaces", {"space": SPACE}, status=201)
    tiny.answers("PATCH", "/api/spaces/space-work/connectivity", {"space": SPACE})
    tiny.answers("DELETE", "/api/spaces/space-work", None, status=204)
    assert at("spaces", "create", "Work", "--hidden").out == "space-work\n"
    assert tiny.asked[0].body == {"name": "Work", "defaultVisible": False}
    assert at("spaces", "connect", "space-work", "space-home", "--off").out == "space-work sees: space-default\n"
    assert tiny.asked[1].body == {"connectivity": {"space-home": False}}
    assert at("spaces", "remove", "space-work").out == "Removed.\n"
    assert json.loads(at("spaces", "remove", "space-work", "--json").out) == {"removed": "space-work"}


def test_topics_alone_lists_them(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/topics", {"topics": [topic_of()], "nextCursor": None})
    assert at("topics").out == "topic_1\tactive\tspace-work\t0s\tLaunch\n"
    assert tiny.asked[0].query == {"limit": "50"}
    at("topics", "list", "--space", "space-work", "--status", "archived", "--limit", "5")
    assert tiny.asked[1].query == {"spaceId": "space-work", "status": "archived", "limit": "5"}


def test_topics_are_created_shown_and_removed(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/topics", {"topic": topic_of()}, status=201)
    tiny.answers("GET", "/api/topics/topic_1", {"topic": topic_of()})
    tiny.answers("GET", "/api/tasks", {"tasks": [{"id": "task_1", "status": "inbox", "title": "Paint"}]})
    tiny.answers("GET", "/api/topics/topic_1/thread", {"messages": [{"authorName": "Ann", "content": "Hello"}]})
    tiny.answers("DELETE", "/api/topics/topic_1", None, status=204)
    assert at("topics", "create", "Launch", "--tag", "Work", "--tag", "urgent").out == "topic_1\n"
    assert tiny.asked[0].body == {"name": "Launch", "tags": ["Work", "urgent"]}
    shown = at("topics", "show", "topic_1").out
    assert all(text in shown for text in ("Work, urgent", "task_1  inbox  Paint", "Hello"))
    assert json.loads(at("topics", "show", "topic_1", "--json").out)["tasks"][0]["id"] == "task_1"
    assert at("topics", "remove", "topic_1").out == "Removed.\n"


def test_topics_and_spaces_are_renamed(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("PATCH", "/api/topics/topic_1", {"topic": topic_of(name="Doors")})
    tiny.answers("PATCH", "/api/spaces/space-work", {"space": SPACE | {"name": "Office"}})
    assert at("topics", "rename", "topic_1", "Doors").out == "Renamed: Doors\n"
    assert at("spaces", "rename", "space-work", "Office").out == "Renamed: Office\n"
    assert [asked.body for asked in tiny.asked] == [{"name": "Doors"}, {"name": "Office"}]


def test_topics_are_merged_and_split(at: Carrel, tiny: TinyServer) -> None:
    for name in ("topic_1", "topic_2"):
        tiny.answers("GET", f"/api/topics/{name}", {"topic": topic_of(id=name)})
    tiny.answers("POST", "/api/topics/topic_1/merge", {"topic": topic_of()})
    tiny.answers("POST", "/api/topics/topic_1/split", {"topic": topic_of(id="topic_3")})
    assert at("topics", "merge", "topic_1", "topic_2").out == "Merged 1 topic into Launch.\n"
    assert tiny.asked[-1].body == {"topicIds": ["topic_2"]}
    assert at("topics", "split", "topic_1", "ent_1", "ent_2", "--name", "Windows").out == "topic_3\n"
    assert tiny.asked[-1].body == {"entryIds": ["ent_1", "ent_2"], "name": "Windows"}
    assert json.loads(at("topics", "split", "topic_1", "ent_1", "--json").out)["topic"]["id"] == "topic_3"


def test_the_log_is_listed(at: Carrel, tiny: TinyServer) -> None:
    entry = {"id": "ent_1", "createdAt": "2999-01-01T00:00:00Z", "type": "note", "content": "Green."}
    tiny.answers("GET", "/api/log", {"logs": [entry | {"topicId": None, "taskId": "task_1"}], "nextCursor": None})
    assert at("log", "--task", "task_1", "--type", "note").out == "ent_1\t0s\tnote\t\ttask_1\tGreen.\n"
    assert tiny.asked[0].query == {"taskId": "task_1", "type": "note", "limit": "50"}
    assert json.loads(at("log", "--json").out)["logs"][0]["id"] == "ent_1"


def test_settings_are_listed_and_read_again(at: Carrel, tiny: TinyServer) -> None:
    row = {"name": "server.port", "value": 8787, "default": 8787, "source": "default"}
    tiny.answers("GET", "/api/settings", {"file": "carrel.toml", "settings": [row]})
    tiny.answers("POST", "/api/settings/reload", {"changed": ["server.port"], "needRestart": ["server.port"]})
    assert at("settings").out == "server.port\tdefault\t8787\n"
    reloaded = at("settings", "reload")
    assert (reloaded.out, reloaded.err) == ("Changed: server.port.\n", "These need a restart: server.port.\n")
