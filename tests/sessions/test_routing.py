"""From a reference to the lane it means: of the right account, the right agent, the right generation."""

import pytest
from msgspec import structs

from carrel.agents import change_agent, require_agent
from carrel.chats import chosen_key
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.sessions import close_generation, find_lane, find_session, insert_lane, lane_for_work
from carrel.storage import Tx
from tests.harness.engine import MAIN, Engine, open_engine
from tests.requirements.mark import requirement

TASK = SessionKey.of("main", "task:task_1")


def as_kind(engine: Engine, kind: str, **more: object) -> Access:
    return structs.replace(engine.access, kind=kind, actor_id=str(more.pop("actor_id", "someone")), **more)


async def make_lane(engine: Engine, key: SessionKey, access: Access | None = None) -> None:
    await engine.db.write(lambda tx: insert_lane(tx, access or engine.access, key))


async def resolved(
    engine: Engine, reference: str, access: Access | None = None, current: SessionKey | None = None
) -> str:
    found = await engine.db.read(lambda tx: find_session(tx, access or engine.access, reference, current))
    return str(found.key)


async def refusal(engine: Engine, reference: str, access: Access | None = None) -> Code:
    with pytest.raises(Refusal) as caught:
        await resolved(engine, reference, access)
    return caught.value.code


async def hear_in(engine: Engine, key: SessionKey, *, close: bool = False) -> str:
    """Run one message in a lane and return the id of its generation."""
    run = await engine.say(key, "hello")
    held = await engine.take_one()
    await engine.start_turn(held)
    await engine.end(held)
    if close:
        await engine.db.write(lambda tx: close_generation(tx, engine.access, key, "reset"))
    session_id = (await engine.run(run.id)).session_id
    assert session_id is not None
    return session_id


@requirement("S0.session.lookup", "S2.key.current")
async def test_a_session_is_found_by_address_by_key_by_id_and_as_current(engine: Engine) -> None:
    first = await hear_in(engine, TASK, close=True)
    second = await hear_in(engine, TASK)

    async def found(reference: str) -> tuple[str, str | None]:
        lane, session = await engine.db.read(lambda tx: find_lane(tx, engine.access, reference, TASK))
        return lane.key, session.id if session else None

    assert await found("agent:main:task:task_1:v1") == (str(TASK), first)
    assert await found("agent:main:task:task_1:v2@default") == (str(TASK), second)
    assert await found("agent:main:task:task_1") == (str(TASK), second)
    assert await found(first) == (str(TASK), first)
    assert await found("current") == (str(TASK), second)
    await engine.db.write(lambda tx: close_generation(tx, engine.access, TASK, "reset"))
    assert await found(str(TASK)) == (str(TASK), second)
    assert await refusal(engine, "agent:main:task:task_1:v3") == Code.NOT_FOUND
    assert await refusal(engine, "ses_" + "0" * 26) == Code.NOT_FOUND
    assert await refusal(engine, "current") == Code.INVALID_PARAMS


async def test_a_key_without_an_agent_means_the_callers_agent_or_the_default(engine: Engine) -> None:
    await engine.make_agent("writer")
    assert await resolved(engine, "main") == "agent:main:main"
    writer = as_kind(engine, "agent", agent_id="writer")
    assert await resolved(engine, "main", writer) == "agent:writer:main"
    assert await resolved(engine, "task:task_1", writer) == "agent:writer:task:task_1"
    assert await refusal(engine, "agent:main:main", writer) == Code.NOT_FOUND
    assert await refusal(engine, "agent:nobody:main") == Code.NOT_FOUND


async def test_what_belongs_to_another_account_is_not_found(engine: Engine) -> None:
    other = await engine.another_account("acme")
    session_id = await hear_in(engine, TASK)
    assert await refusal(engine, session_id, other) == Code.NOT_FOUND
    assert await refusal(engine, f"agent:main:{engine.access.account_id}", other) == Code.NOT_FOUND
    assert await refusal(engine, "agent:main:task:task_1:v1@default", other) == Code.NOT_FOUND
    assert await refusal(engine, "agent:main:task:task_1:v1", other) == Code.NOT_FOUND
    assert await resolved(engine, f"agent:main:{other.account_id}", other) == "agent:main:main"


@requirement("S3.id.sessionid")
async def test_a_bare_key_that_matches_two_lanes_is_ambiguous_and_lists_them(engine: Engine) -> None:
    for rest in ("web:holidays", "cli:holidays"):
        await make_lane(engine, SessionKey.of("main", rest))
    await make_lane(engine, SessionKey.of("main", "web:worklife"))
    assert await resolved(engine, "worklife") == "agent:main:web:worklife"
    assert await resolved(engine, "web:holidays") == "agent:main:web:holidays"
    assert await refusal(engine, "nothing-here") == Code.NOT_FOUND
    with pytest.raises(Refusal) as caught:
        await resolved(engine, "holidays")
    assert caught.value.code == Code.AMBIGUOUS_SESSION
    assert caught.value.details == {"sessionKeys": ["agent:main:cli:holidays", "agent:main:web:holidays"]}


async def test_an_invisible_lane_makes_no_bare_key_ambiguous_and_is_not_revealed(engine: Engine) -> None:
    program = as_kind(engine, "client", actor_id="tok_1", agent_ids=("main",))
    await make_lane(engine, SessionKey.of("main", "web:holidays"), program)
    await make_lane(engine, SessionKey.of("main", "cli:holidays"))
    assert await resolved(engine, "holidays", program) == "agent:main:web:holidays"
    assert await refusal(engine, "cli:holidays", program) == Code.NOT_FOUND


@requirement("S0.session.rename")
async def test_renaming_an_agent_changes_no_key_and_old_slugs_find_their_lane(engine: Engine) -> None:
    await engine.make_agent("writer")
    key = SessionKey.of("writer", "task:task_1")
    session_id = await hear_in(engine, key)
    agent = await engine.db.read(lambda tx: require_agent(tx, engine.access, "writer"))
    for slug in ("author", "novelist"):
        agent = structs.replace(agent, slug=slug)
        await engine.db.write(lambda tx, agent=agent: change_agent(tx, engine.access, agent))  # type: ignore[misc]
    for spelling in ("writer", "author", "novelist"):
        lane, session = await engine.db.read(
            lambda tx, spelling=spelling: find_lane(tx, engine.access, f"agent:{spelling}:task:task_1")  # type: ignore[misc]
        )
        assert (lane.key, session and session.id) == (str(key), session_id)
    with pytest.raises(Refusal) as caught:
        await engine.make_agent("author")
    assert caught.value.code == Code.CONFLICT
    renamed = await engine.db.read(lambda tx: require_agent(tx, engine.access, "author"))
    assert (renamed.id, renamed.slug, set(renamed.aliases)) == ("writer", "novelist", {"writer", "author"})


@requirement("S0.route.task", "S0.route.base", "S0.route.precedence", "S0.session.pair.agents")
async def test_a_message_goes_to_the_named_lane_else_its_task_else_the_main_lane(engine: Engine) -> None:
    await engine.make_agent("writer")

    async def lane(agent: str | None, reference: str | None, task_id: str | None, scoped: bool = True) -> str:
        return str(
            await engine.db.read(
                lambda tx: lane_for_work(
                    tx, engine.access, agent=agent, reference=reference, task_id=task_id, task_scoped=scoped
                )
            )
        )

    assert await lane("writer", None, "task_1") == "agent:writer:task:task_1"
    assert await lane(None, None, "task_1") == "agent:main:task:task_1"
    assert await lane("writer", None, None) == "agent:writer:main"
    assert await lane("writer", "agent:writer:hook:h", "task_1") == "agent:writer:hook:h"
    assert await lane("writer", None, "task_1", scoped=False) == "agent:writer:main"


async def test_a_client_cannot_choose_a_conversation_key_of_another(engine: Engine) -> None:
    program = as_kind(engine, "client", actor_id="tok_1", agent_ids=("main",))
    await make_lane(engine, SessionKey.of("main", "web:holidays-mine"), program)
    await make_lane(engine, SessionKey.of("main", "web:holidays-theirs"))

    async def chosen(name: str) -> str:
        return str(await engine.db.read(lambda tx: chosen_key(tx, program, "web", name, "main")))

    assert await chosen("holidays-mine") == "agent:main:web:holidays-mine"
    assert await chosen("holidays-new") == "agent:main:web:holidays-new"
    with pytest.raises(Refusal) as caught:
        await chosen("holidays-theirs")
    assert caught.value.code == Code.NOT_FOUND


async def test_a_client_reaches_only_its_own_lanes_of_its_own_agents(engine: Engine) -> None:
    await engine.make_agent("writer")
    program = as_kind(engine, "client", actor_id="tok_1", agent_ids=("writer",))
    await make_lane(engine, SessionKey.of("writer", "hook:mine"), program)
    await make_lane(engine, SessionKey.of("writer", "hook:theirs"))
    assert await resolved(engine, "agent:writer:hook:mine", program) == "agent:writer:hook:mine"
    assert await refusal(engine, "agent:writer:hook:theirs", program) == Code.NOT_FOUND
    assert await refusal(engine, "agent:main:main", program) == Code.NOT_FOUND
    with pytest.raises(Refusal) as caught:
        await engine.say(MAIN, "hello", access=program)
    assert caught.value.code == Code.NOT_FOUND


@pytest.mark.parametrize(("slug", "kept"), [("main", True), ("boss", False)])
async def test_a_number_is_drawn_ahead_only_under_the_lock_of_the_lane_that_was_meant(
    postgres_url: str, slug: str, kept: bool
) -> None:
    def work(tx: Tx) -> tuple[SessionKey, int, int]:
        found = find_session(tx, engine.access, f"agent:{slug}:main", ahead=lambda _: (tx.tick,))
        last = int(tx.value("SELECT last_value FROM ticks") or 0)
        return found.key, tx.tick(), last

    async with open_engine(postgres_url) as engine:
        agent = await engine.db.read(lambda tx: require_agent(tx, engine.access, "main"))
        await engine.db.write(lambda tx: change_agent(tx, engine.access, structs.replace(agent, slug=slug)))
        key, number, last = await engine.db.write(work)
    assert key == MAIN
    assert (number == last) is kept
