"""The send policy, and changes of a lane's settings."""

import asyncio
import threading
from typing import Literal

import pytest

from carrel.kernel import Code, Refusal, SessionKey
from carrel.kernel.settings import SendMatch, SendPolicySettings, SendRule
from carrel.runs import Rules
from carrel.sessions import LaneChange, change_lane, lane_of
from carrel.sessions.send_policy import is_send_allowed
from carrel.storage import Tx
from tests.harness.engine import MAIN, SECONDS_MAX, Engine, open_engine
from tests.requirements.mark import requirement

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


async def test_a_lane_with_send_policy_deny_refuses_until_it_is_changed(engine: Engine) -> None:
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


async def test_concurrent_changes_of_a_lane_are_both_kept(engine: Engine) -> None:
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


async def test_a_deleted_lane_cannot_be_changed(engine: Engine) -> None:
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: change_lane(tx, engine.access, MAIN, LaneChange(label="mine")))
    assert caught.value.code == Code.NOT_FOUND
