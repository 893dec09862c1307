"""Who may do what with a task: flags, the orchestrator, spaces, tokens of other kinds, other accounts."""

import pytest
from msgspec import structs

from carrel.agents import BehaviorFlags, Profile, make_agent
from carrel.agents.model import Agent
from carrel.kernel import Code
from carrel.work import (
    TaskFilter,
    actor_of,
    list_tasks,
    post_message,
    read_history,
    read_thread,
    readable_task,
    task_briefing,
)
from carrel.work.permissions import Actor, resolve_flags
from tests.requirements.mark import requirement
from tests.work.desk import Desk, lane

BUILT_IN = {
    "can_create_tasks": False, "can_modify_task_status": True, "can_mention_agents": True, "can_review_tasks": False,
    "can_mark_done": False, "can_promote_memory": False,
}  # fmt: skip


def agent_with(**flags: bool) -> Agent:
    profile = Profile(behavior_flags=BehaviorFlags(**flags))
    return Agent(id="a", slug="a", name="A", enabled=True, profile=profile, created_at=0, updated_at=0)


@requirement("S0.work.flags")
@pytest.mark.parametrize("flag", BUILT_IN)
def test_a_flag_is_the_agents_own_else_the_accounts_else_the_built_in_one(flag: str) -> None:
    first, *more = flag.split("_")
    wire = first + "".join(word.capitalize() for word in more)

    def resolved(own: bool | None, account: bool | None) -> bool:
        agent = agent_with(**({} if own is None else {flag: own}))
        return bool(getattr(resolve_flags(agent, {} if account is None else {wire: account}), flag))

    assert resolved(None, None) is BUILT_IN[flag]
    for value in (True, False):
        assert resolved(None, value) is value
        assert resolved(value, not value) is value
        assert resolved(value, None) is value


ACTIONS = ("create", "change", "assign", "message", "archive", "reopen", "stop", "request")


@requirement("S0.work.flags")
def test_people_may_everything_agents_what_their_flags_say_and_the_orchestrator_more() -> None:
    def may(**about: object) -> set[str]:
        actor = Actor(**{"kind": "agent", "id": "a", "party_id": "a", "name": "A"} | about)  # type: ignore[arg-type]
        return {action for action in ACTIONS if actor.may(action)}  # type: ignore[arg-type]

    assert may(kind="user") == may(kind="system") == set(ACTIONS)
    nothing = BehaviorFlags(**dict.fromkeys(BUILT_IN, False))
    assert may(flags=nothing) == set()
    assert may(flags=BehaviorFlags(**BUILT_IN)) == {"change", "request"}
    assert may(flags=structs.replace(nothing, can_create_tasks=True)) == {"create"}
    assert may(flags=nothing, is_orchestrator=True) == set(ACTIONS) - {"reopen", "stop"}


async def test_a_token_of_a_program_may_not_use_tasks(desk: Desk) -> None:
    task = await desk.create()
    client = structs.replace(desk.access, kind="client", actor_id="tok_1", agent_ids=("main",))
    assert await desk.refused(desk.read(lambda tx: readable_task(tx, client, task.id)[0])) == Code.FORBIDDEN
    ghost = desk.agent("ghost")
    assert await desk.refused(desk.read(lambda tx: actor_of(tx, ghost))) == Code.NOT_FOUND


@requirement("S0.history.agent")
async def test_an_agent_limited_to_spaces_reads_its_assignments_and_the_task_of_its_run(desk: Desk) -> None:
    await desk.db.write(lambda tx: make_agent(tx, desk.access, "guest", "Guest", Profile(space_ids=("space-other",))))
    own, other = await desk.create("guest", title="own"), await desk.create("writer", title="other")
    # As its token gives it: an agent's access has the agent's spaces.
    guest = structs.replace(desk.agent("guest"), space_ids=("space-other",))
    assert await desk.refused(desk.read(lambda tx: readable_task(tx, guest, other.id)[0])) == Code.NOT_FOUND
    assert (await desk.read(lambda tx: readable_task(tx, guest, own.id)[0])).id == own.id
    found = await desk.read(lambda tx: list_tasks(tx, guest, TaskFilter(), before=None, limit=10))
    assert [task.id for task in found] == [own.id]
    run = await desk.say(lane("guest", other), "hello")
    within = structs.replace(desk.agent("guest", run), space_ids=("space-other",))
    assert (await desk.read(lambda tx: readable_task(tx, within, other.id)[0])).id == other.id


@requirement("S0.isolation.thread", "S0.isolation.mismatch", "S0.history.account")
async def test_a_thread_of_another_account_is_not_found_though_every_id_is_the_same(desk: Desk) -> None:
    other = await desk.another_account("other")
    theirs = structs.replace(other, kind="owner", actor_id="tok_owner", name="Oscar")
    for access in (desk.access, theirs):
        await desk.make_task("shared", access)
    await desk.make_agent("writer", theirs)
    mine = await desk.task("shared")
    await desk.db.write(lambda tx: post_message(tx, theirs, "shared", "@writer their secret", desk.rules))
    await desk.post(mine, "@writer my message")
    thread = await desk.read(lambda tx: read_thread(tx, desk.access, "shared", limit=10))
    assert [message.content for message in thread.messages] == ["@writer my message"]
    history = await desk.read(lambda tx: read_history(tx, theirs, "shared", message_limit=10, activity_limit=10))
    assert [message.content for message in history.messages] == ["@writer their secret"]
    (run,) = await desk.live(lane("writer", "shared"))
    assert run.text == "@writer my message"
    await desk.post(mine, "more")
    briefing = await desk.read(lambda tx: task_briefing(tx, run))
    assert briefing is not None
    assert "secret" not in repr(briefing)
    await desk.move(mine, "archived")
    assert (await desk.read(lambda tx: readable_task(tx, theirs, "shared")[0])).status == "inbox"
    only_theirs = await desk.create(access=theirs)
    assert await desk.refused(desk.task(only_theirs)) == Code.NOT_FOUND
