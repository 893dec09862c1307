"""What `carrel memory` requests from the server and prints."""

import json
from typing import Any, get_args

from carrel.main.cli.memory import TYPES
from carrel.memory import MemoryType
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel


def memory_of(**changes: Any) -> dict[str, Any]:
    """A memory as the API shows it, with some fields changed."""
    memory = {"id": "mem_1", "scope": "session:main:main", "type": "fact", "content": "The door\nis green"}
    return memory | {"updatedAt": "2999-01-01T00:00:00Z"} | changes


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    """A list as the API shows it."""
    return {"chain": ["session:main:main", "global"], "agentId": "main", "items": list(items), "nextCursor": None}


def test_memory_alone_lists_what_the_main_session_reads(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/memory", listed(memory_of()))
    assert at("memory").out == "mem_1\tsession:main:main\tfact\t0s\tThe door is green\n"
    assert tiny.asked[0].query == {"sessionId": "main", "limit": "50"}


def test_a_scope_is_listed_alone(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/memory", listed())
    assert json.loads(at("memory", "list", "--scope", "global", "--json").out)["items"] == []
    assert tiny.asked[0].query == {"scope": "global", "limit": "50"}


def test_search_shows_the_score_and_the_reason(at: Carrel, tiny: TinyServer) -> None:
    found = {"chain": ["global"], "items": [memory_of(score=0.5, reason="matches door")]}
    tiny.answers("GET", "/api/memory/search", found)
    shown = at("memory", "search", "door", "--session", "web", "--task", "t1").out
    assert shown == "mem_1\tsession:main:main\t0.50\tmatches door\tThe door is green\n"
    assert tiny.asked[0].query == {"q": "door", "sessionId": "web", "taskId": "t1", "limit": "10"}


def test_add_keeps_it_in_the_narrowest_scope_of_the_session(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/memory", listed())
    tiny.answers("POST", "/api/memory", {"item": memory_of()}, status=201)
    assert at("memory", "add", "The door is green", "--type", "decision", "--tag", "door").out == "mem_1\n"
    kept = {"type": "decision", "content": "The door is green", "tags": ["door"]}
    assert tiny.asked[1].body == {"scope": "session:main:main", "agentId": "main", **kept}


def test_add_to_a_scope_asks_nothing_first(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/memory", {"item": memory_of()}, status=201)
    at("memory", "add", "x", "--scope", "task:t1")
    assert [one.body for one in tiny.asked] == [{"scope": "task:t1", "type": "fact", "content": "x", "tags": []}]


def test_every_type_can_be_added() -> None:
    assert get_args(MemoryType) == TYPES


def test_promote_and_forget_name_the_memory(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/memory/mem_1/promote", {"item": memory_of(id="mem_2")}, status=201)
    tiny.answers("DELETE", "/api/memory/mem_2", None, status=204)
    assert at("memory", "promote", "mem_1", "all enter there").out == "mem_2\n"
    assert tiny.asked[0].body == {"reason": "all enter there"}
    assert at("memory", "forget", "mem_2").out == "Forgotten.\n"
