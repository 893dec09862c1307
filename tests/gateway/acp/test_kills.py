"""Carrel is killed while a coding agent works: its program ends, and its run goes on with what is known."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.gateway.acp.agents import PROGRAM, open_ear, until_ended
from tests.harness.process import RunningServer, Start
from tests.requirements.mark import requirement

SETTINGS = """
[gateway.default]
kind = "acp"
command = "{python}"
args = ["-S", "{program}", "with a child"]
env = ["CODER_PORT"]
"""


def say(server: RunningServer, text: str) -> str:
    """Say something to the agent; the id of its run."""
    with server.client() as client:
        return str(client.post("/api/runs", json={"message": text}).json()["runId"])


def until_known(server: RunningServer, act: str) -> None:
    """Look until an act of the agent is in its session; every look takes a moment."""
    with server.client() as client:
        for _ in range(10_000):
            if act in client.get("/api/sessions/main/history", params={"includeTools": True}).text:
                return
    raise AssertionError(f"{act} is not there")


def waited(server: RunningServer, run_id: str) -> dict[str, object]:
    """How a run ended."""
    with server.client() as client:
        return dict(client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20}).json())


@requirement("P.acp.interrupted", "P.acp.end", "P.acp.load")
async def test_a_turn_whose_server_was_killed_is_gone_on_with_and_told_so(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "carrel.toml").write_text(SETTINGS.format(python=sys.executable, program=PROGRAM))
    async with open_ear(monkeypatch) as ear:
        server = await asyncio.to_thread(start)
        run_id = say(server, "do edit Mend a.py; begin Run tests; hold; say Done.")
        await ear.until("holds")
        await asyncio.to_thread(until_known, server, "acp__execute")
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(until_ended, ear.pids)
        server = await asyncio.to_thread(start)
        await ear.until("holds", 2)
        assert ear.said("load") == ["s1"]
        note, message = ear.said("prompt")[1]
        assert message == "do edit Mend a.py; begin Run tests; hold; say Done."
        assert "- Mend a.py: done" in note
        assert "- Run tests: not known to have succeeded" in note
        ear.let_go_of("holds")
        ended = await asyncio.to_thread(waited, server, run_id)
        assert (ended["status"], ended["reply"]) == ("ok", "Done.")
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(until_ended, ear.pids)
