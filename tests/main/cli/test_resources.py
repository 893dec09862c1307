"""The table of resources: every change that the API offers has a command, and the verbs do what they say."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from carrel.main.assembly import whole_document
from carrel.main.cli.program import COMMANDS
from carrel.main.cli.request import Request
from tests.bridge.tiny_server import Frames, TinyServer
from tests.main.cli.conftest import Carrel

CHANGES = ("post", "put", "patch", "delete")
# Changes whose command needs more than one request.
BY_HAND = {
    "POST /api/auto/stop": "auto stop",
    "POST /api/chat": "chat",
    "DELETE /api/agents/{}": "agents delete",
    "DELETE /api/sessions/{}": "sessions delete",
    "POST /api/ingest": "import jsonl",
    "POST /api/mcp/servers/{}/test": "mcp servers test",
    "POST /api/memory": "memory add",
    "POST /api/models/connect": "connect",
    "POST /api/models/probe": "connect",
    "POST /api/notes": "note",
    "POST /api/plans/{}/approve": "plan approve",
    "POST /api/plans/{}/cancel": "plan cancel",
    "POST /api/plans/{}/resume": "plan resume",
    "POST /api/runs": "send",
    "POST /api/runs/{}/answer": "runs answer",
    "POST /api/runs/{}/replay": "runs replay",
    "POST /api/sessions/{}/archive": "sessions archive",
    "POST /api/sessions/{}/send": "send",
    "POST /api/sessions/{}/unarchive": "sessions archive",
    "POST /api/tasks": "tasks create",
    "POST /api/tasks/{}/assign": "tasks assign",
    "POST /api/tasks/{}/status": "tasks move",
    "POST /api/tokens": "token create",
    "POST /api/topics/{}/merge": "topics merge",
}
WITHOUT_A_COMMAND = {
    "POST /api/attachments": "files of a message are added where it is written, in the dashboard",
    "POST /api/auth/session": "browsers sign in",
    "DELETE /api/auth/session": "browsers sign out",
    "POST /api/classifier/session-routing": "connectors tell it",
    "POST /api/hooks/agent": "other programs call it",
    "POST /api/hooks/claude": "other programs call it",
    "POST /api/hooks/in/{}": "other programs call it",
    "POST /api/hooks/wake": "other programs call it",
    "POST /api/log": "people write notes; `import jsonl` takes any entry",
    "POST /api/orchestrator-chat": "the board opens this chat",
    "POST /api/sessions/active": "chats keep where they are by themselves",
    "POST /api/tasks/reorder": "tasks are dragged on the board; `tasks move --before` moves one",
    "POST /api/tasks/{}/seen": "reading a thread in the dashboard marks it",
    "POST /api/topics/reorder": "topics are dragged on the board",
    "PUT /api/plans/{}": "agents write plans",
}


def changes() -> set[str]:
    """Every change that the API offers, with `{}` for parameters of its path."""
    return {
        f"{method.upper()} {'/'.join('{}' if part.startswith('{') else part for part in path.split('/'))}"
        for path, operations in whole_document()["paths"].items()
        for method in operations
        if method in CHANGES and path.startswith("/api/")
    }


def asked() -> set[str]:
    """The requests of commands that are one request."""
    requests = (getattr(command.run, "__self__", None) for command in COMMANDS)
    return {one.asks for one in requests if isinstance(one, Request) and isinstance(one.asks, str)}


def test_every_change_that_the_api_offers_has_a_command() -> None:
    assert changes() - asked() - BY_HAND.keys() - WITHOUT_A_COMMAND.keys() == set()


def test_commands_and_exceptions_name_what_is_there() -> None:
    assert (asked() | BY_HAND.keys() | WITHOUT_A_COMMAND.keys()) - changes() <= {one for one in asked() if "GET" in one}
    assert not WITHOUT_A_COMMAND.keys() & (asked() | BY_HAND.keys())
    assert set(BY_HAND.values()) <= {command.name for command in COMMANDS}


def test_the_verbs_of_a_noun_are_the_same_for_all() -> None:
    nouns: dict[str, set[str]] = {}
    for command in COMMANDS:
        noun, _, verb = command.name.rpartition(" ")
        nouns.setdefault(noun, set()).add(verb)
    for noun in ("tasks", "sessions", "spaces", "topics", "goals", "schedule", "agents", "users"):
        assert nouns[noun] >= {"list", "show", "create", "edit"}, noun
        assert nouns[noun] & {"delete", "remove"}, noun


def test_a_field_without_an_option_is_set_by_its_name(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("PATCH", "/api/goals/goal_1", {"goal": {"id": "goal_1"}})
    assert at("goals", "edit", "goal_1", "--name", "Sow", "--set", 'metadata={"a": 1}', "--set", "x=y").code == 0
    assert tiny.asked[0].body == {"name": "Sow", "metadata": {"a": 1}, "x": "y"}
    unchanged = at("goals", "edit", "goal_1")
    assert (unchanged.code, unchanged.err) == (2, "Nothing to change; name a field, e.g. --name NAME.\n")


def test_what_the_api_only_lists_is_shown_from_the_list(at: Carrel, tiny: TinyServer) -> None:
    users = [{"id": "usr_1", "slug": "ann", "name": "Ann"}, {"id": "usr_2", "slug": "ben", "name": "Ben"}]
    tiny.answers("GET", "/api/users", {"users": users, "nextCursor": None})
    assert json.loads(at("users", "show", "ben", "--json").out) == {"user": users[1]}
    missing = at("users", "show", "bne")
    assert (missing.code, missing.err) == (1, "There is no user 'bne', or you may not see it; did you mean ben?\n")


def test_the_last_of_a_list_is_the_newest_also_where_the_oldest_comes_first(at: Carrel, tiny: TinyServer) -> None:
    tokens = [{"id": "tok_1"}, {"id": "tok_2"}]
    tiny.answers("GET", "/api/tokens", {"tokens": tokens, "nextCursor": None})
    tiny.answers("DELETE", "/api/tokens/tok_2", None, status=204)
    assert json.loads(at("token", "revoke", "last", "--json").out) == {"revoked": "tok_2"}


def test_a_deletion_that_cannot_be_asked_for_needs_consent(at: Carrel, tiny: TinyServer) -> None:
    ended = at("users", "delete", "ann")
    assert (ended.code, ended.err) == (2, "carrel users delete asks first; pass --yes to do it without being asked.\n")
    assert tiny.asked == []


def test_schedules_of_all_sessions_are_listed_and_edited(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/schedules", {"schedules": [], "nextCursor": None})
    tiny.answers("PATCH", "/api/schedules/sch_1", {"schedule": {"id": "sch_1"}})
    at("schedule", "--all")
    at("schedule", "edit", "sch_1", "--cron", "@daily", "--times", "3")
    assert "sessionId" not in tiny.asked[0].query
    assert tiny.asked[1].body == {"cron": "@daily", "maxExecutions": 3}


def test_models_are_listed_with_the_agents_that_use_them(at: Carrel, tiny: TinyServer) -> None:
    agents = [{"id": "main", "gateway": "", "model": ""}, {"id": "writer", "gateway": "local", "model": "qwen3"}]
    connected = [{"name": name, "kind": name, "status": "ok", "lastError": None} for name in ("builtin", "local")]
    tiny.answers("GET", "/api/agents", {"agents": agents})
    tiny.answers("GET", "/api/health", {"gateways": connected})
    assert at("models").out == "builtin\tbuiltin\tok\t\tmain\t\nlocal\tlocal\tok\tqwen3\twriter\t\n"


@pytest.mark.parametrize("words", [("events",), ("events", "--name", "run")])
def test_of_a_feed_too_long_to_be_read_the_newest_events_are_shown(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...]
) -> None:
    def frames(request: Any) -> Iterator[bytes]:
        if request.headers["Last-Event-ID"] == "0":
            yield b'event: stream.reset\ndata: {"reason": "overflow", "seq": 9000}\n\n'
        else:
            yield b'event: stream.ready\ndata: {"seq": 9000}\n\n'
            yield b'id: 9000\nevent: run.queued\ndata: {"runId": "run_1"}\n\n'

    tiny.does("GET", "/api/stream", lambda request: (200, Frames(frames(request))))
    assert at(*words).out == "9000\t\trun.queued\t\trun_1\n"
    assert tiny.asked[1].headers["Last-Event-ID"] == "8800"


def test_help_may_follow_the_noun(carrel: Carrel) -> None:
    assert carrel("runs", "help").out == carrel("runs", "--help").out
