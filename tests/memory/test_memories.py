"""Keeping, changing, forgetting and promoting memories."""

import pytest

from carrel.kernel import Code, Refusal, SessionKey
from carrel.memory import MemoryChange, change
from carrel.memory.scopes import GLOBAL_SCOPE
from carrel.runs import remove_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from tests.harness.engine import Engine
from tests.memory.places import Notebook, counted, reader
from tests.requirements.mark import requirement

HERE = "session:web:c1"


@pytest.fixture
def notes(engine: Engine) -> Notebook:
    """The memories of the default account."""
    return Notebook(engine)


async def test_what_says_the_same_is_renewed_and_not_kept_twice(engine: Engine, notes: Notebook) -> None:
    first = await notes.keep("The door is Green", HERE, confidence=0.5, tags=("door",))
    engine.advance(60)
    again = await notes.keep("  the door is green", HERE, confidence=0.4, tags=("colour",))
    assert again.id == first.id
    assert (again.confidence, again.tags) == (0.5, ("door", "colour"))
    assert again.updated_at == first.updated_at + 60_000
    assert await notes.recalled(reader()) == ["The door is Green"]
    elsewhere = await notes.keep("The door is green", "session:web:c2")
    another_type = await notes.keep("The door is green", HERE, type="decision")
    assert len({first.id, elsewhere.id, another_type.id}) == 3


async def test_a_memory_that_another_replaces_is_not_recalled_until_it_is_kept_again(notes: Notebook) -> None:
    old = await notes.keep("Deploy on Fridays", HERE)
    await notes.keep("Deploy on Mondays", HERE, supersedes=old.id)
    assert await notes.recalled(reader(), "when do we deploy?") == ["Deploy on Mondays"]
    assert await notes.recalled(reader(), "fridays", only_matching=True) == []
    await notes.keep("Deploy on Fridays", HERE)
    assert sorted(await notes.recalled(reader(), "deploy")) == ["Deploy on Fridays", "Deploy on Mondays"]


async def test_a_memory_replaces_only_one_of_its_own_scope(notes: Notebook) -> None:
    other = await notes.keep("Deploy on Fridays", "session:web:c2")
    for old in (other.id, "mem_unknown"):
        with pytest.raises(Refusal) as refused:
            await notes.keep("Deploy on Mondays", HERE, supersedes=old)
        assert refused.value.code is Code.NOT_FOUND
    assert await notes.recalled(reader("web:c2")) == ["Deploy on Fridays"]


async def test_an_expired_memory_is_not_recalled(engine: Engine, notes: Notebook) -> None:
    now = await engine.read(lambda tx: tx.now)
    await notes.keep("The offer is open", HERE, expires_at=now + 10_000)
    assert await notes.recalled(reader(), "offer") == ["The offer is open"]
    engine.advance(10)
    assert await notes.recalled(reader(), "offer") == []
    assert await notes.recalled(reader(), "offer", only_matching=True) == []


@requirement("S3.scope.persist.global", "S3.inv.6")
async def test_only_promote_writes_global(notes: Notebook) -> None:
    with pytest.raises(Refusal) as refused:
        await notes.keep("Everyone knows", GLOBAL_SCOPE)
    assert refused.value.code is Code.PROMOTION_REQUIRED
    memory = await notes.keep("Everyone should know", HERE)
    everywhere = await notes.promote(memory)
    assert (everywhere.scope, everywhere.agent_id) == ("global", "")
    assert await notes.recalled(reader("web:c9", "other")) == ["Everyone should know"]
    with pytest.raises(Refusal) as refused:
        await notes.engine.db.write(lambda tx: change(tx, notes.access, everywhere, MemoryChange(content="else")))
    assert refused.value.code is Code.PROMOTION_REQUIRED


@requirement("S3.x.promotion.explicit")
async def test_a_promotion_names_its_reason_and_leaves_an_event(engine: Engine, notes: Notebook) -> None:
    memory = await notes.keep("This error must never happen again", HERE, type="failure", confidence=1.0)
    assert await notes.recalled(reader("web:c2")) == []
    for reason in ("", "  ", "x" * 1_001):
        with pytest.raises(Refusal):
            await notes.promote(memory, reason)
    before = counted("memory.promoted.count")
    everywhere = await notes.promote(memory, "it concerns all")
    assert (everywhere.promoted_from, everywhere.promotion_reason) == (memory.id, "it concerns all")
    assert everywhere.promoted_by == notes.access.actor_id
    assert counted("memory.promoted.count") == before + 1
    with pytest.raises(Refusal) as refused:
        await notes.promote(everywhere)
    assert refused.value.code is Code.CONFLICT
    again = await notes.promote(memory, "once more")
    assert (again.id, again.promotion_reason) == (everywhere.id, "once more")
    sql = "SELECT name, key, body FROM events WHERE account_id = :account AND name LIKE 'memory.%' ORDER BY seq"
    written, *promoted = await engine.read(lambda tx: tx.all(sql, notes.access))
    assert written[:2] == ("memory.written", "agent:main:web:c1")
    assert [row[:2] for row in promoted] == [("memory.promoted", None)] * 2
    assert memory.id in promoted[0][2]
    assert "error" not in "".join(row[2] for row in promoted)


@requirement("S3.scope.legacy")
async def test_an_imported_memory_without_a_scope_is_read_as_global(engine: Engine, notes: Notebook) -> None:
    memory = await notes.keep("An older rule", HERE)

    def import_it(tx: Tx) -> None:
        tx.run("UPDATE memories SET scope = NULL, agent_id = '' WHERE account_id = :account", notes.access)
        tx.run("UPDATE memory_words SET scope = 'global', agent_id = '' WHERE account_id = :account", notes.access)

    await engine.db.write(import_it)
    for by in (reader(), reader("web:c2", "other", task="t1")):
        assert await notes.recalled(by, "which rule?") == ["An older rule"]
        assert (await notes.found(by, memory)).read_scope == "global"
    with pytest.raises(Refusal):
        await notes.promote(await notes.found(reader(), memory))


async def test_a_change_is_checked_and_found_by_its_new_words(notes: Notebook) -> None:
    memory = await notes.keep("The door is green", HERE)
    await notes.keep("The door is red", HERE)

    async def changed(**wanted: object) -> str:
        wish = MemoryChange(**wanted)  # type: ignore[arg-type]
        return (await notes.engine.db.write(lambda tx: change(tx, notes.access, memory, wish))).content

    assert await changed(content="The window is blue", tags=("glass",)) == "The window is blue"
    assert await notes.recalled(reader(), "glass", only_matching=True) == ["The window is blue"]
    assert await notes.recalled(reader(), "green", only_matching=True) == []
    with pytest.raises(Refusal) as refused:
        await changed(content="the DOOR is red")
    assert refused.value.code is Code.CONFLICT


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"content": " \n"}, Code.INVALID_PARAMS),
        ({"content": "x" * 2_001}, Code.TOO_LONG),
        ({"title": "x" * 201}, Code.TOO_LONG),
        ({"tags": tuple(map(str, range(33)))}, Code.LIMIT_REACHED),
        ({"tags": ("x" * 65,)}, Code.TOO_LONG),
        ({"confidence": 1.1}, Code.INVALID_PARAMS),
    ],
)
async def test_what_is_missing_or_too_long_is_refused(notes: Notebook, wrong: dict[str, object], code: Code) -> None:
    with pytest.raises(Refusal) as refused:
        await notes.keep(**{"content": "x", "at": HERE} | wrong)  # type: ignore[arg-type]
    assert refused.value.code is code


async def test_a_forgotten_memory_is_gone_with_its_words(engine: Engine, notes: Notebook) -> None:
    await notes.forget(await notes.keep("The door is green", HERE))
    assert await notes.recalled(reader(), "door") == []
    sql = "SELECT count(*) FROM memory_words WHERE account_id = :account"
    assert await engine.read(lambda tx: tx.one(sql, notes.access)) == (0,)


async def test_deleting_a_session_forgets_its_memory_and_no_other(engine: Engine, notes: Notebook) -> None:
    await engine.make_agent("other")
    key = SessionKey.of("main", "hook:a")
    await engine.end(await _heard(engine, key))
    await notes.keep("of the session", "session:hook:a")
    await notes.keep("of its neighbour", "session:hook:b")
    await notes.keep("of another agent's", "session:hook:a", "other")
    await notes.keep("of a task", "task:t1")

    def delete(tx: Tx) -> None:
        lane = lane_of(tx, engine.access, key)
        assert lane is not None
        assert remove_lane(tx, engine.access, lane) is None

    await engine.db.write(delete)
    assert await notes.recalled(reader("hook:a")) == []
    assert await notes.recalled(reader("hook:b")) == ["of its neighbour"]
    assert await notes.recalled(reader("hook:a", "other")) == ["of another agent's"]
    assert await notes.recalled(reader("hook:a", task="t1")) == ["of a task"]


async def _heard(engine: Engine, key: SessionKey):  # type: ignore[no-untyped-def]
    await engine.say(key, "hello")
    return await engine.take_one()
