"""Asking agents for a response: each once until it has answered or four hours have passed."""

from carrel.kernel import Code
from carrel.sessions import Session
from carrel.work import Task, request_responses
from tests.requirements.mark import requirement
from tests.work.desk import Desk


async def held_back(desk: Desk, task: Task, *slugs: str) -> list[tuple[str, str]]:
    """Return who the writer's request skips, and why."""
    asked = await desk.request(task, *slugs, access=desk.agent("writer"))
    return [(one.slug, one.reason) for one in asked.skipped]


@requirement("S0.fanout.request", "S0.x.request.told")
async def test_an_agent_is_asked_once_until_it_has_answered(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    asked = await desk.request(task, "critic", access=desk.agent("writer"))
    assert ([one.slug for one in asked.requested], asked.skipped) == (["critic"], [])
    assert await desk.told(task) == [("critic", "response_request")]
    assert await held_back(desk, task, "critic") == [("critic", "waiting")]
    held = await desk.take_one()
    assert held.id == asked.requested[0].run_id
    assert isinstance(await desk.admit(held), Session)
    assert await held_back(desk, task, "critic") == [("critic", "recent")]
    await desk.reply(held, "looks good")
    await desk.handle_ends()
    assert await held_back(desk, task, "critic") == []


@requirement("S0.fanout.request")
async def test_after_four_hours_an_agent_may_be_asked_again(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.request(task, "critic", access=desk.agent("writer"))
    assert isinstance(await desk.admit(await desk.take_one()), Session)
    desk.advance(4 * 3600 - 1)
    assert await held_back(desk, task, "critic") == [("critic", "recent")]
    desk.advance(1)
    assert await held_back(desk, task, "critic") == []


async def test_a_request_whose_run_ends_without_an_answer_may_be_repeated(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.work_off()
    await desk.request(task, "critic", access=desk.agent("writer"))
    await desk.work_off()
    assert await held_back(desk, task, "critic") == []


async def test_a_request_on_another_task_is_another_request(desk: Desk) -> None:
    one, two = await desk.create("writer"), await desk.create("writer")
    await desk.request(one, "critic", access=desk.agent("writer"))
    assert await held_back(desk, two, "critic") == []


@requirement("S0.x.request.told")
async def test_an_agent_asks_neither_itself_nor_who_is_not_there(desk: Desk) -> None:
    task = await desk.create("writer")
    assert await held_back(desk, task, "writer", "nobody", "chief", "chief") == [
        ("nobody", "not_found"), ("writer", "self"),
    ]  # fmt: skip


async def test_an_agent_that_is_disabled_is_not_asked(desk: Desk) -> None:
    task = await desk.create("writer")
    await desk.disable("critic")
    assert await held_back(desk, task, "critic") == [("critic", "not_found")]


async def test_what_cannot_be_asked_is_refused(desk: Desk) -> None:
    task = await desk.create("writer")
    writer = desk.agent("writer")

    async def code(slugs: tuple[str, ...], message: str) -> Code:
        return await desk.refused(
            desk.db.write(lambda tx: request_responses(tx, writer, task.id, slugs, message, desk.rules))
        )

    assert await code(("critic",), " ") == Code.INVALID_PARAMS
    assert await code((), "x") == Code.INVALID_PARAMS
    assert await code(tuple(map(str, range(11))), "x") == Code.INVALID_PARAMS
    assert await code(("critic",), "x" * 1_001) == Code.TOO_LONG
    await desk.settings(agentDefaults={"behaviorFlags": {"canMentionAgents": False}})
    assert await code(("critic",), "x") == Code.FORBIDDEN
    await desk.move(task, "archived")
    assert await desk.refused(desk.request(task, "critic")) == Code.ILLEGAL_TRANSITION
