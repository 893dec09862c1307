"""Spaces: how they are made and connected, and which of them a read covers."""

import pytest
from msgspec import structs

from carrel.access import (
    SpaceChange,
    allowed_spaces,
    change_space,
    connect_spaces,
    effective_spaces,
    every_space,
    make_space,
    readable_space,
    remove_space,
    space_shapes,
)
from carrel.journal import DEFAULT_SPACE, events_after
from carrel.kernel import Access, Code, Refusal
from carrel.kernel.limits import SPACES_PER_ACCOUNT_MAX
from tests.harness.engine import Engine
from tests.requirements.mark import requirement


async def make(engine: Engine, name: str, *, default_visible: bool = True) -> str:
    def work(tx):  # type: ignore[no-untyped-def]
        return make_space(tx, engine.access, name, default_visible=default_visible)[0].id

    return await engine.db.write(work)


async def allowed(engine: Engine, space_id: str) -> tuple[str, ...]:
    return await engine.read(lambda tx: allowed_spaces(tx, engine.access, space_id))


async def connect(engine: Engine, space_id: str, **edges: bool) -> None:
    wanted = {f"space-{name}": visible for name, visible in edges.items()}
    await engine.db.write(lambda tx: connect_spaces(tx, engine.access, space_id, wanted))


def only(engine: Engine, *spaces: str) -> Access:
    return structs.replace(engine.access, kind="user", actor_id="usr_1", space_ids=spaces)


@requirement("S4.space.seed", "S4.space.allowed")
async def test_a_new_space_is_connected_as_each_space_that_is_looked_at_says(engine: Engine) -> None:
    hidden = await make(engine, "Hidden", default_visible=False)
    work = await make(engine, "Work")
    assert await allowed(engine, work) == (work, DEFAULT_SPACE)
    assert await allowed(engine, hidden) == (hidden, DEFAULT_SPACE, work)
    assert await allowed(engine, DEFAULT_SPACE) == (DEFAULT_SPACE, work)


@requirement("S4.space.seed")
async def test_changing_the_default_later_alters_no_edge(engine: Engine) -> None:
    work, home = await make(engine, "Work"), await make(engine, "Home")
    await engine.db.write(lambda tx: change_space(tx, engine.access, home, SpaceChange(default_visible=False)))
    assert home in await allowed(engine, work)
    assert home not in await allowed(engine, await make(engine, "Later"))


@requirement("S4.space.allowed")
async def test_an_edge_that_is_false_or_missing_hides_the_space(engine: Engine) -> None:
    work, home = await make(engine, "Work"), await make(engine, "Home")
    await connect(engine, work, home=False)
    assert await allowed(engine, work) == (work, DEFAULT_SPACE)
    assert work in await allowed(engine, home), "an edge has a direction"
    assert await allowed(engine, "space-unknown") == ("space-unknown",)


async def test_an_edge_to_a_space_that_does_not_exist_is_refused(engine: Engine) -> None:
    with pytest.raises(Refusal) as refused:
        await connect(engine, DEFAULT_SPACE, nowhere=True)
    assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "connectivity.space-nowhere")


@requirement("S4.space.explicit", "S4.space.intersect", "S4.space.allowed.only", "S4.space.unresolved")
async def test_the_spaces_of_a_read_are_narrowed_and_never_widened(engine: Engine) -> None:
    work, home, secret = await make(engine, "Work"), await make(engine, "Home"), await make(engine, "Secret")
    await connect(engine, work, secret=False, default=False)

    async def scope(access: Access, **given: object) -> tuple[object, ...]:
        found = await engine.read(lambda tx: effective_spaces(tx, access, **given))  # type: ignore[arg-type]
        return found.source, found.resolved_from, found.allowed

    everyone, narrow = engine.access, only(engine, home, secret)
    assert await scope(everyone) == (None, None, None)
    assert await scope(everyone, space_id=work) == (work, "spaceId", (work, home))
    assert await scope(everyone, inferred=(work, "boardKey")) == (work, "boardKey", (work, home))
    assert await scope(everyone, space_id=home, inferred=(work, "boardKey")) == (
        home, "spaceId", (home, DEFAULT_SPACE, secret, work),
    )  # fmt: skip
    assert await scope(everyone, space_id=work, allowed_ids=(secret, home)) == (work, "spaceId", (home,))
    assert await scope(everyone, allowed_ids=(secret, home)) == (None, None, (secret, home))
    assert await scope(everyone, allowed_ids=()) == (None, None, ())
    assert await scope(narrow) == (None, None, (home, secret))
    assert await scope(narrow, space_id=work) == (work, "spaceId", (home,))
    assert await scope(narrow, allowed_ids=(work, secret)) == (None, None, (secret,))
    assert await scope(narrow, allowed_ids=("*",)) == (None, None, (home, secret))


async def test_a_caller_sees_its_spaces_and_their_edges_to_one_another_only(engine: Engine) -> None:
    work, home = await make(engine, "Work"), await make(engine, "Home")
    access = only(engine, work, DEFAULT_SPACE)
    shapes = await engine.read(lambda tx: space_shapes(tx, access, every_space(tx, access)))
    assert {shape.id: shape.connectivity for shape in shapes} == {
        DEFAULT_SPACE: {work: True}, work: {DEFAULT_SPACE: True},
    }  # fmt: skip
    with pytest.raises(Refusal) as refused:
        await engine.read(lambda tx: readable_space(tx, access, home))
    assert refused.value.code == Code.NOT_FOUND
    assert await engine.read(lambda tx: allowed_spaces(tx, access, work)) == (work, DEFAULT_SPACE)


async def test_the_default_space_stays_and_others_can_be_removed(engine: Engine) -> None:
    work = await make(engine, "Work")
    with pytest.raises(Refusal) as refused:
        await engine.db.write(lambda tx: remove_space(tx, engine.access, DEFAULT_SPACE))
    assert refused.value.code == Code.LIMIT_REACHED
    await engine.db.write(lambda tx: remove_space(tx, engine.access, work))
    assert await allowed(engine, DEFAULT_SPACE) == (DEFAULT_SPACE,)
    events = await engine.read(lambda tx: events_after(tx, engine.access, 0, limit=100))
    assert [(event.name, event.space_id) for event in events if event.name.startswith("space.")] == [
        ("space.created", work), ("space.deleted", work),
    ]  # fmt: skip


async def test_an_account_has_a_bounded_number_of_spaces(engine: Engine) -> None:
    def fill(tx):  # type: ignore[no-untyped-def]
        for at in range(1, SPACES_PER_ACCOUNT_MAX):
            make_space(tx, engine.access, f"Space {at}")

    await engine.db.write(fill)
    with pytest.raises(Refusal) as refused:
        await make(engine, "One too many")
    assert refused.value.code == Code.LIMIT_REACHED
