"""Which session a browser, a terminal or a chat points to."""

import pytest
from msgspec import structs

from carrel.chats import ChatAddress, chat_session, chosen_key, move_pointer
from carrel.chats.pointers import pointed_session
from carrel.journal import events_after
from carrel.kernel import Access, Code, Refusal, SessionKey, is_conversation_key
from carrel.kernel.settings import SessionsSettings
from carrel.notifications import OWNERS, mailbox_of
from carrel.runs import remove_lane
from carrel.sessions import insert_lane, lane_of, set_archived
from tests.harness.engine import Engine
from tests.requirements.mark import requirement


def person(engine: Engine, name: str) -> Access:
    return structs.replace(engine.access, kind="user", actor_id=name, user_id=name)


async def make_chat(engine: Engine, access: Access, name: str) -> SessionKey:
    key = SessionKey.of("main", f"web:{name}")
    engine.advance(1)
    await engine.db.write(lambda tx: insert_lane(tx, access, key))
    return key


async def point_to(engine: Engine, access: Access, key: SessionKey, instance: str = "tab-1") -> None:
    lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, key))
    assert lane is not None
    await engine.db.write(lambda tx: move_pointer(tx, access, "web", instance, lane, "user"))


async def in_front(engine: Engine, access: Access, instance: str = "tab-1") -> tuple[str, str]:
    found = await engine.db.read(lambda tx: pointed_session(tx, access, "web", instance))
    return str(found.key), found.source


@requirement("S3.id.pointer")
async def test_a_transport_points_to_one_session_and_two_people_never_share_one(engine: Engine) -> None:
    ann, bob = person(engine, "ann"), person(engine, "bob")
    first, second = await make_chat(engine, ann, "chat-one1"), await make_chat(engine, ann, "chat-two2")
    await point_to(engine, ann, first)
    await point_to(engine, ann, second, "tab-2")
    assert await in_front(engine, ann) == (str(first), "pointer")
    assert await in_front(engine, ann, "tab-2") == (str(second), "pointer")
    key, source = await in_front(engine, bob)
    assert source == "default"
    assert key not in (str(first), str(second))
    assert is_conversation_key(SessionKey.parse(key).conversation, is_new=True)


async def test_nobody_chooses_the_chat_of_another_person(engine: Engine) -> None:
    ann, bob = person(engine, "ann"), person(engine, "bob")
    chat = await make_chat(engine, ann, "chat-one1")
    assert await engine.db.read(lambda tx: chosen_key(tx, ann, "web", "chat-one1", None)) == chat
    with pytest.raises(Refusal) as refused:
        await engine.db.read(lambda tx: chosen_key(tx, bob, "web", "chat-one1", None))
    assert refused.value.code == Code.NOT_FOUND


async def test_where_a_person_turned_is_told_to_nobody_else(engine: Engine) -> None:
    ann, system = person(engine, "ann"), engine.access
    await point_to(engine, ann, await make_chat(engine, ann, "chat-one1"))
    await point_to(engine, system, await make_chat(engine, system, "chat-two2"))
    events = await engine.db.read(lambda tx: events_after(tx, engine.access, 0, limit=100))
    told = [event.recipient for event in events if event.name == "pointer.changed"]
    assert told == [mailbox_of(ann), OWNERS]
    assert mailbox_of(ann) not in (None, OWNERS)


@requirement("S3.id.delete")
async def test_deleting_the_pointed_session_moves_the_pointer_to_the_creators_most_recent(engine: Engine) -> None:
    ann, bob = person(engine, "ann"), person(engine, "bob")
    keys = [await make_chat(engine, ann, f"chat-000{n}") for n in range(3)]
    await make_chat(engine, bob, "chat-of-bob")
    await point_to(engine, ann, keys[0])
    for wanted in (keys[2], keys[1]):
        key, _ = await in_front(engine, ann)
        lane = await engine.db.read(lambda tx, key=key: lane_of(tx, ann, SessionKey.parse(key)))  # type: ignore[misc]
        assert lane is not None
        assert await engine.db.write(lambda tx, lane=lane: remove_lane(tx, ann, lane)) is None  # type: ignore[misc]
        assert (await in_front(engine, ann))[0] == str(wanted)
    lane = await engine.db.read(lambda tx: lane_of(tx, ann, keys[1]))
    assert lane is not None
    await engine.db.write(lambda tx: remove_lane(tx, ann, lane))
    _, source = await in_front(engine, ann)
    assert source == "default"


async def test_a_pointer_to_an_archived_session_is_repaired_by_reading(engine: Engine) -> None:
    ann = person(engine, "ann")
    first, second = await make_chat(engine, ann, "chat-one1"), await make_chat(engine, ann, "chat-two2")
    await point_to(engine, ann, second)
    lane = await engine.db.read(lambda tx: lane_of(tx, ann, second))
    assert lane is not None
    await engine.db.write(lambda tx: set_archived(tx, ann, lane.session_key, archived=True))
    assert await in_front(engine, ann) == (str(first), "repaired")


@requirement("S3.id.legacy", "S3.id.newkey")
async def test_an_old_short_key_is_usable_if_it_exists_and_cannot_be_created(engine: Engine) -> None:
    short, wrong = SessionKey.of("main", "web:old"), "not.a.key"
    with pytest.raises(Refusal) as caught:
        await engine.say(short, "hello")
    assert caught.value.code == Code.INVALID_CONVERSATION_KEY
    for name in ("old", wrong, "ses_12345678"):
        with pytest.raises(Refusal) as caught:
            await engine.db.read(lambda tx, name=name: chosen_key(tx, engine.access, "web", name, None))  # type: ignore[misc]
        assert caught.value.code == Code.INVALID_CONVERSATION_KEY
    await engine.db.write(lambda tx: insert_lane(tx, engine.access, short))
    await engine.say(short, "hello")
    assert await engine.db.read(lambda tx: chosen_key(tx, engine.access, "web", "old", None)) == short


@requirement("S2.key.scope.global")
async def test_with_scope_global_every_direct_chat_is_the_main_lane(engine: Engine) -> None:
    shared, apart = SessionsSettings(scope="global"), SessionsSettings()

    async def session_of(settings: SessionsSettings, reference: str) -> str:
        address = ChatAddress(channel="web", client_instance_id="tab-1", reference=reference)
        return str(await engine.db.read(lambda tx: chat_session(tx, engine.access, settings, address)))

    assert await session_of(shared, "web:abcdefgh") == "agent:main:main"
    assert await session_of(apart, "web:abcdefgh") == "agent:main:web:abcdefgh"
    assert await session_of(shared, "slack:group:C1") == "agent:main:slack:group:C1"
