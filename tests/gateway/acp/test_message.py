"""Turns of a coding agent: what it is told, what is seen of its work, and how a turn ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrel.journal import Entry, entries_of_run
from carrel.runs import Run
from tests.gateway.acp.agents import coding_server, open_ear
from tests.harness.server import Server
from tests.requirements.mark import requirement


async def entries(server: Server, run: Run) -> list[Entry]:
    """The entries of a run."""
    return await server.read(lambda tx: entries_of_run(tx, server.access, run.id))


async def acts(server: Server, run: Run) -> list[tuple[str, Any]]:
    """What a run's agent did: names with arguments, and results."""
    return [
        ((entry.details or {})["name"], json.loads((entry.details or {})["arguments"]))
        if entry.role == "toolCall"
        else ("=", json.loads(entry.content))
        for entry in await entries(server, run)
        if entry.role in ("toolCall", "toolResult")
    ]


@requirement("P.acp.turn")
async def test_what_the_agent_says_is_the_reply_and_its_session_goes_on(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(store_url, tmp_path) as server:
        first = await server.ask("say Hello|, you")
        second = await server.ask("say Again")
        assert (first.state, first.reply, second.reply) == ("completed", "Hello, you", "Again")
        assert ear.said("prompt") == [["say Hello|, you"], ["say Again"]]
        assert ear.said("new") == [str(tmp_path / "workspaces" / server.access.account_id / "main")]
        receipt = await server.receipt(second, with_body=True)
        assert json.loads(str(receipt.steps[0].body)) == {
            "sessionId": "s1",
            "prompt": [{"type": "text", "text": "say Again"}],
        }


@requirement("P.acp.acts")
async def test_tool_calls_and_plans_of_the_agent_become_entries(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        run = await server.ask("say First.; plan read it|mend it; do edit Mend a.py; begin Run tests; say Done.")
        assert run.reply == "First.\n\nDone."
        assert await acts(server, run) == [
            (
                "acp__plan",
                {
                    "entries": [
                        {"content": "read it", "status": "completed"},
                        {"content": "mend it", "status": "pending"},
                    ]
                },
            ),
            ("=", {"ok": True, "steps": 2, "done": 1}),
            ("acp__edit", {"title": "Mend a.py", "files": ["/somewhere/a.py"], "input": {"key": "[redacted]"}}),
            ("=", {"ok": True, "text": "Mend a.py went well"}),
            ("acp__execute", {"title": "Run tests"}),
            (
                "=",
                {"ok": False, "error": {"code": "fate_unknown", "message": "The agent did not say what became of it."}},
            ),
        ]
