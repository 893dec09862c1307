"""What a coding agent asks permission for: a person decides, and rules decide before a person is asked."""

from functools import partial
from pathlib import Path

import pytest

from carrel.agents import ToolRules
from carrel.kernel import Refusal
from carrel.modes import enable_plan_mode
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Run
from tests.gateway.acp.agents import coding_server, open_ear
from tests.gateway.acp.test_message import acts
from tests.harness.server import Server
from tests.requirements.mark import requirement

ASKS = "say I will mend it. ; ask edit Mend a.py; say Done."


async def decide(server: Server, run: Run, approved: bool, word: str = "so be it") -> Run:
    """Let a person decide; the run once it rests again."""
    return await server.settled(await server.answer(run, word, approved=approved))


@requirement("P.acp.permission")
async def test_a_question_of_the_agent_waits_for_a_person_and_its_turn_goes_on_with_the_answer(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(store_url, tmp_path) as server:
        run = await server.ask(ASKS)
        assert (run.state, run.waiting_for) == ("waiting", "approval")
        assert run.question == "May main edit a file? (acp__edit)\n- title: Mend a.py\n- input:\n  - what: Mend a.py"
        run = await decide(server, run, approved=True)
        assert (run.state, run.reply) == ("completed", "Mend a.py: allow_once. Done.")
        assert ear.said("permission") == [{"outcome": "selected", "optionId": "allow_once"}]
        assert len(ear.said("prompt")) == 1
        about = {"title": "Mend a.py", "input": {"what": "Mend a.py"}}
        assert await acts(server, run) == [
            ("acp__edit", about),
            ("=", {"ok": True, "allowed": True}),
            ("acp__edit", about),
            ("=", {"ok": True}),
        ]


@requirement("P.acp.permission")
async def test_a_person_who_refuses_is_obeyed(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        run = await decide(server, await server.ask(ASKS), approved=False)
        assert (run.state, run.reply) == ("completed", "Mend a.py: reject_once. Done.")
        assert ear.said("permission") == [{"outcome": "selected", "optionId": "reject_once"}]


@requirement("P.acp.permission")
async def test_each_question_of_a_turn_is_asked_by_itself(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        run = await decide(server, await server.ask("ask edit One; ask execute Two; say End."), approved=True)
        assert (run.state, run.question) == (
            "waiting",
            "May main run a command? (acp__execute)\n- title: Two\n- input:\n  - what: Two",
        )
        run = await decide(server, run, approved=False)
        assert (run.state, run.reply) == ("completed", "Two: reject_once. End.")


@requirement("P.acp.denied")
async def test_what_the_rules_of_the_agent_deny_is_refused_and_nobody_is_asked(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        await server.make_agent("careful", tools=ToolRules(deny=("acp__execute",)))
        run = await server.ask("ask execute Clean up; say Done.", agent="careful")
        assert (run.state, run.reply) == ("completed", "Clean up: reject_once. Done.")
        assert ear.said("permission") == [{"outcome": "selected", "optionId": "reject_once"}]
        assert (await acts(server, run))[1][1]["error"]["message"] == "This agent may not use acp__execute."


@requirement("P.acp.denied")
async def test_plan_mode_refuses_changes_and_lets_a_person_allow_reading(sqlite_url: str, tmp_path: Path) -> None:
    async with coding_server(sqlite_url, tmp_path, env=()) as server:
        await server.ask("say Hello")
        run = await server.send("say Hello", "hook:other")
        await server.settled(run)
        await server.db.write(lambda tx: enable_plan_mode(tx, server.access, run.session_key))
        folder = tmp_path / "workspaces" / server.access.account_id / "main"
        run = await server.ask(f"ask edit It; write {folder}/a.txt text; say Seen.", "hook:other")
        assert run.state == "completed"
        assert run.reply is not None
        assert run.reply.startswith("It: reject_once. ")
        assert "it is in plan mode" in run.reply
        assert not (folder / "a.txt").exists()
        run = await server.ask("ask read It", "hook:other")
        assert (run.state, run.waiting_for) == ("waiting", "approval")


@requirement("P.acp.permission")
async def test_something_else_that_is_said_after_a_question_ends_its_run(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(store_url, tmp_path) as server:
        asked = await server.ask(ASKS)
        other = await server.ask("say Something else")
        assert other.reply == "Something else"
        assert ear.said("permission") == [{"outcome": "cancelled"}]
        over = await server.run(asked)
        assert (over.state, over.reason) == ("cancelled", "overtaken")
        waiting = RunFilter(waits_for="person")
        listed = partial(runs_newest_first, access=server.access, wanted=waiting, before=None, limit=10)
        assert await server.read(listed) == []
        with pytest.raises(Refusal, match="something else was said to its agent since"):
            await server.answer(asked, "yes", approved=True)


@requirement("P.acp.permission")
async def test_a_question_is_still_answered_after_a_turn_that_nobody_asked_for(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        asked = await server.ask(ASKS)
        other = await server.ask("say Good morning", kind="heartbeat")
        assert other.reply == "Good morning"
        assert ear.said("permission") == [{"outcome": "cancelled"}]
        again = await decide(server, asked, approved=True)
        note, message = ear.said("prompt")[-1]
        assert message == ASKS
        assert 'The permission that you asked for, "Mend a.py", was given by a person.' in note
        # It asks once more for what was allowed, and has it.
        assert again.reply == "I will mend it. \n\nMend a.py: allow_once. Done."


@requirement("P.acp.permission")
async def test_what_was_said_before_a_question_leaves_it_open(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, coding_server(sqlite_url, tmp_path) as server:
        asked = await server.send("hold; ask edit Mend a.py")
        await ear.until("holds")
        later = await server.send("say Something else")
        ear.let_go_of("holds")
        assert (await server.settled(later)).reply == "Something else"
        assert (await server.run(asked)).state == "waiting"


@requirement("P.acp.permission", "P.acp.load")
async def test_a_question_survives_the_end_of_the_program(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear:
        async with coding_server(sqlite_url, tmp_path) as server:
            asked = await server.ask(ASKS)
        async with coding_server(sqlite_url, tmp_path) as server:
            again = await decide(server, asked, approved=False, word="use b.py")
            assert ear.said("load") == ["s1"]
            (note, message) = ear.said("prompt")[-1]
            assert message == ASKS
            assert 'you asked for, "Mend a.py", was not given by a person' in note
            assert "use b.py" in note
            assert again.waiting_for == "approval"
