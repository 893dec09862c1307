"""Answers that say nothing: they are not posted, and where an answer is due the agent is asked again."""

import pytest

from carrel.exchanges import may_be_silent, visible_reply
from carrel.journal import entries_of_task
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Run
from tests.delivery.tasks import assign, lane, make_task, notify
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

SILENT = (
    "", "NO_REPLY", "HEARTBEAT_OK", " NO_REPLY\n", "NO_", "No response from OpenClaw.", "No reply from agent.",
    "@writer @ann No response from agent.",
)  # fmt: skip


async def thread(server: Server, task_id: str) -> list[str]:
    """What is in a task's thread."""
    entries = await server.read(lambda tx: entries_of_task(tx, server.access, task_id, "thread", limit=50))
    return [entry.content for entry in entries]


async def assigned(server: Server, gateway: ScriptedGateway, *answers: str) -> tuple[str, Run]:
    """A task, and the run of its assignment, answered like this."""
    await server.make_agent("writer")
    gateway.script(*(text(answer) for answer in answers))
    task_id = await make_task(server)
    return task_id, await assign(server, task_id, "writer")


@requirement("S0.x.silence")
@pytest.mark.parametrize("answer", SILENT)
async def test_an_assignment_that_is_answered_with_nothing_is_tried_three_times_and_posts_nothing(
    server: Server, gateway: ScriptedGateway, answer: str
) -> None:
    task_id, run = await assigned(server, gateway, *[answer] * 3)
    assert (run.state, run.reply, run.note) == ("completed", "", "no_reply")
    assert len({request.body for request in gateway.requests}) == 3
    assert not any(b"NO_REPLY" in request.body for request in gateway.requests)
    assert await thread(server, task_id) == []
    assert [entry.role for entry in await server.entries(run)] == ["user"]


@requirement("S0.x.silence")
async def test_an_answer_at_the_second_try_is_posted_alone(server: Server, gateway: ScriptedGateway) -> None:
    task_id, run = await assigned(server, gateway, "NO_REPLY", "I begin.")
    assert (run.reply, run.note) == ("I begin.", None)
    assert await thread(server, task_id) == ["I begin."]
    first, again = (request.json for request in gateway.requests)
    assert first["input"] == again["input"]
    assert again["instructions"].startswith(first["instructions"])
    assert again["instructions"].endswith("answered nothing, once. Somebody waits: answer now, in words.")


@requirement("S0.x.silence")
@pytest.mark.parametrize("words", ["@writer please look", "for everybody"])
async def test_a_persons_message_is_tried_three_times(server: Server, gateway: ScriptedGateway, words: str) -> None:
    task_id, _ = await assigned(server, gateway, "I begin.")
    gateway.script(*[text("NO_REPLY")] * 3)
    run = await notify(server, task_id, words)
    assert (run.reply, run.note) == ("", "no_reply")
    assert len(gateway.requests) == 4


@requirement("S0.x.silence")
async def test_a_direct_message_of_a_person_on_a_task_is_tried_three_times(
    server: Server, gateway: ScriptedGateway
) -> None:
    task_id, _ = await assigned(server, gateway, "I begin.")
    gateway.script(*[text("NO_REPLY")] * 3)
    key = lane(server, "writer", task_id)
    run = await server.ask("are you there?", key.rest, agent="writer")
    assert (run.reply, run.note) == ("", "no_reply")
    assert len(gateway.requests) == 4
    assert await thread(server, task_id) == ["I begin.", "are you there?"]


@requirement("S0.x.silence")
async def test_an_update_that_an_agent_wrote_is_tried_once(server: Server, gateway: ScriptedGateway) -> None:
    task_id, _ = await assigned(server, gateway, "I begin.")
    await server.make_agent("editor")
    gateway.script(text("Me too."))
    await assign(server, task_id, "editor")
    writers, editors = lane(server, "writer", task_id), lane(server, "editor", task_id)
    gateway.rule = lambda request: text(
        "NO_REPLY" if "editor" in request.headers["x-openclaw-session-key"] else "Half."
    )
    await server.ask("how far are you?", writers.rest, agent="writer")
    newest = RunFilter(key=str(editors))
    await server.until(lambda tx: len(runs_newest_first(tx, server.access, newest, before=None, limit=9)) == 2)
    (_, update) = await server.runs(editors)
    run = await server.settled(update)
    assert (run.source().type, run.reply, run.note) == ("thread_update", "", "no_reply")
    assert [request.headers["x-openclaw-agent-id"] for request in gateway.requests] == [
        "writer", "editor", "writer", "editor",
    ]  # fmt: skip


@requirement("S0.x.silence")
async def test_who_called_tools_and_then_says_nothing_is_not_asked_again(
    server: Server, gateway: ScriptedGateway
) -> None:
    await server.make_agent("writer")
    gateway.script(calls(("session_status", {})), text("NO_REPLY"))
    task_id = await make_task(server)
    run = await assign(server, task_id, "writer")
    assert (run.reply, run.note) == ("", "no_reply")
    assert len(gateway.requests) == 2
    assert await thread(server, task_id) == []


async def test_no_is_an_answer_and_so_is_a_word_that_only_begins_like_silence() -> None:
    for answer in ("NO", "No.", "NO_REPLY is what I would say", "HEARTBEAT_OK, but", "No response from OpenClaw yet."):
        assert visible_reply(answer) == answer
    for answer in SILENT:
        assert visible_reply(answer) is None
        assert may_be_silent(answer[: len(answer) // 2]) or answer.startswith("@")
    assert not may_be_silent("Hello")


async def test_outside_of_tasks_a_silent_reply_stays_in_the_transcript(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("NO_REPLY"))
    run = await server.ask("hello")
    assert (run.reply, run.note) == ("NO_REPLY", None)
    assert [entry.content for entry in await server.entries(run)] == ["hello", "NO_REPLY"]
