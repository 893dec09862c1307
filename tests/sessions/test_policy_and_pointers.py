"""The send policy, and which lane a browser or chat points to."""

import asyncio
import threading
from typing import Literal

import pytest
from msgspec import structs

from carrel.kernel import Access, Code, Refusal, SessionKey, is_new_conversation_key
from carrel.kernel.settings import SendMatch, SendPolicySettings, SendRule, SessionsSettings
from carrel.runs import Rules, remove_lane
from carrel.sessions import (
    ChatAddress,
    LaneChange,
    change_lane,
    chat_session,
    chosen_key,
    insert_lane,
    lane_of,
    move_pointer,
    set_archived,
)
from carrel.sessions.pointers import pointed_session
from carrel.sessions.send_policy import is_send_allowed
from carrel.storage import Tx
from tests.harness.engine import MAIN, SECONDS_MAX, Engine, open_engine
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio

GROUP = SessionKey.of("main", "slack:group:C1")
CHANNEL = SessionKey.of("main", "discord:channel:7")
DIRECT = SessionKey.of("main", "telegram:direct:bob")
WEB = SessionKey.of("main", "web:abcdefgh")


def rule(action: str, **match: str) -> SendRule:
    return SendRule(action=action, match=SendMatch(**match))  # type: ignore[arg-type]


def allowed(settings: SendPolicySettings, key: SessionKey, channel: str = "api", override: str | None = None) -> bool:
    return is_send_allowed(settings, key, channel, override)


@requirement("S2.policy.rules", "S2.policy.kind")
def test_a_deny_rule_wins_over_an_allow_rule_and_the_default() -> None:
    assert allowed(SendPolicySettings(), GROUP)
    assert not allowed(SendPolicySettings(default="deny"), GROUP)
    mixed = SendPolicySettings(rules=(rule("allow", channel="slack"), rule("deny", chat_type="group")), default="deny")
    assert not allowed(mixed, GROUP)
    assert allowed(SendPolicySettings(rules=(rule("allow", channel="slack"),), default="deny"), GROUP)
    assert not allowed(SendPolicySettings(rules=(rule("allow", channel="slack"),), default="deny"), CHANNEL)


@requirement("S2.policy.rules")
@pytest.mark.parametrize(
    ("match", "refused"),
    [
        ({"channel": "slack"}, {GROUP}),
        ({"chat_type": "group"}, {GROUP}),
        ({"chat_type": "channel"}, {CHANNEL}),
        ({"chat_type": "direct"}, {DIRECT, WEB, MAIN}),
        ({"chat_type": "dm"}, {DIRECT, WEB, MAIN}),
        ({"channel": "telegram", "chat_type": "direct"}, {DIRECT}),
        ({"key_prefix": "agent:main:slack:"}, {GROUP}),
        ({"key_prefix": "discord:"}, {CHANNEL}),
        ({"channel": "api"}, {MAIN}),
        ({"channel": "web"}, {WEB}),
        ({"channel": "webchat"}, {WEB}),
        ({}, {GROUP, CHANNEL, DIRECT, WEB, MAIN}),
    ],
)
def test_a_rule_matches_by_channel_chat_type_and_prefix(match: dict[str, str], refused: set[SessionKey]) -> None:
    settings = SendPolicySettings(rules=(rule("deny", **match),))
    assert {key for key in (GROUP, CHANNEL, DIRECT, WEB, MAIN) if not allowed(settings, key)} == refused


@requirement("S2.policy.override")
def test_a_sessions_own_setting_overrides_the_rules() -> None:
    denying = SendPolicySettings(rules=(rule("deny"),))
    assert allowed(denying, GROUP, override="allow")
    assert not allowed(SendPolicySettings(), GROUP, override="deny")
    assert not allowed(denying, GROUP, override=None)


@requirement("S2.policy.enforced")
async def test_what_the_policy_denies_is_refused_and_leaves_nothing(store_url: str) -> None:
    rules = Rules(send_policy=SendPolicySettings(rules=(rule("deny", chat_type="group"),)))
    async with open_engine(store_url, rules=rules) as engine:
        with pytest.raises(Refusal) as caught:
            await engine.say(GROUP, "hello")
        assert caught.value.code == Code.SEND_DENIED
        assert await engine.db.read(lambda tx: lane_of(tx, engine.access, GROUP)) is None
        await engine.say(DIRECT, "hello")


async def test_a_lane_with_send_policy_deny_refuses_until_it_is_changed(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(MAIN, "hello")

        async def set_policy(policy: Literal["deny"] | None) -> None:
            change = LaneChange(send_policy=policy)
            await engine.db.write(lambda tx: change_lane(tx, engine.access, MAIN, change))

        await set_policy("deny")
        with pytest.raises(Refusal) as caught:
            await engine.say(MAIN, "again")
        assert caught.value.code == Code.SEND_DENIED
        await set_policy(None)
        await engine.say(MAIN, "again")
        assert await engine.depth(MAIN) == 2


async def test_concurrent_changes_of_a_lane_are_both_kept(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        await engine.say(MAIN, "hello")
        first_is_done = threading.Event()

        def first(tx: Tx) -> None:
            change_lane(tx, engine.access, MAIN, LaneChange(label="ours"))
            first_is_done.set()

        def second(tx: Tx) -> None:
            assert first_is_done.wait(SECONDS_MAX)
            change_lane(tx, engine.access, MAIN, LaneChange(model="large"))

        await asyncio.gather(engine.db.write(first), engine.db.write(second))
        lane = await engine.db.read(lambda tx: lane_of(tx, engine.access, MAIN))
        assert lane is not None
        assert (lane.label, lane.model) == ("ours", "large")


async def test_a_deleted_lane_cannot_be_changed(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        with pytest.raises(Refusal) as caught:
            await engine.db.write(lambda tx: change_lane(tx, engine.access, MAIN, LaneChange(label="mine")))
        assert caught.value.code == Code.NOT_FOUND


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


async def in_front(engine: Engine, access: Access, instance: str = "tab-1") -> tuple[str, str, bool]:
    found = await engine.db.read(lambda tx: pointed_session(tx, access, "web", instance))
    return str(found.key), found.source, found.exists


@requirement("S3.id.pointer")
async def test_a_transport_points_to_one_session_and_two_people_never_share_one(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        ann, bob = person(engine, "ann"), person(engine, "bob")
        first, second = await make_chat(engine, ann, "chat-one1"), await make_chat(engine, ann, "chat-two2")
        await point_to(engine, ann, first)
        await point_to(engine, ann, second, "tab-2")
        assert await in_front(engine, ann) == (str(first), "pointer", True)
        assert await in_front(engine, ann, "tab-2") == (str(second), "pointer", True)
        key, source, made = await in_front(engine, bob)
        assert (source, made) == ("default", False)
        assert key not in (str(first), str(second))
        assert is_new_conversation_key(SessionKey.parse(key).conversation)


@requirement("S3.id.delete")
async def test_deleting_the_pointed_session_moves_the_pointer_to_the_creators_most_recent(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        ann, bob = person(engine, "ann"), person(engine, "bob")
        keys = [await make_chat(engine, ann, f"chat-000{n}") for n in range(3)]
        await make_chat(engine, bob, "chat-of-bob")
        await point_to(engine, ann, keys[0])
        for wanted in (keys[2], keys[1]):
            key, _, _ = await in_front(engine, ann)
            lane = await engine.db.read(lambda tx, key=key: lane_of(tx, ann, SessionKey.parse(key)))  # type: ignore[misc]
            assert lane is not None
            assert await engine.db.write(lambda tx, lane=lane: remove_lane(tx, ann, lane)) is None  # type: ignore[misc]
            assert (await in_front(engine, ann))[0] == str(wanted)
        lane = await engine.db.read(lambda tx: lane_of(tx, ann, keys[1]))
        assert lane is not None
        await engine.db.write(lambda tx: remove_lane(tx, ann, lane))
        _, source, made = await in_front(engine, ann)
        assert (source, made) == ("default", False)


async def test_a_pointer_to_an_archived_session_is_repaired_by_reading(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        ann = person(engine, "ann")
        first, second = await make_chat(engine, ann, "chat-one1"), await make_chat(engine, ann, "chat-two2")
        await point_to(engine, ann, second)
        lane = await engine.db.read(lambda tx: lane_of(tx, ann, second))
        assert lane is not None
        await engine.db.write(lambda tx: set_archived(tx, ann, lane, archived=True))
        assert await in_front(engine, ann) == (str(first), "repaired", True)


@requirement("S3.id.legacy", "S3.id.newkey")
async def test_an_old_short_key_is_usable_if_it_exists_and_cannot_be_created(store_url: str) -> None:
    async with open_engine(store_url) as engine:
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
async def test_with_scope_global_every_direct_chat_is_the_main_lane(store_url: str) -> None:
    async with open_engine(store_url) as engine:
        shared, apart = SessionsSettings(scope="global"), SessionsSettings()

        async def session_of(settings: SessionsSettings, reference: str) -> str:
            address = ChatAddress(channel="web", client_instance_id="tab-1", reference=reference)
            return str(await engine.db.read(lambda tx: chat_session(tx, engine.access, settings, address)))

        assert await session_of(shared, "web:abcdefgh") == "agent:main:main"
        assert await session_of(apart, "web:abcdefgh") == "agent:main:web:abcdefgh"
        assert await session_of(shared, "slack:group:C1") == "agent:main:slack:group:C1"
