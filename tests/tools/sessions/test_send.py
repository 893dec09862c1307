"""sessions_send: what is sent to whom, what is returned, and what is refused."""

from typing import Any

import pytest

from carrel.kernel.settings import (
    RunsSettings,
    SendMatch,
    SendPolicySettings,
    SendRule,
    Settings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
)
from carrel.runs import Failed, Rules, stop_lane
from carrel.sessions import lane_of
from tests.exchanges.talks import ASKER, TELLER, Talk, open_talk
from tests.requirements.mark import requirement

PENDING = {"status": "pending", "mode": "announce"}


def only(visibility: str, **more: Any) -> Settings:
    """Return settings with narrower visibility."""
    sessions = ToolsSessionsSettings(visibility=visibility)  # type: ignore[arg-type]
    return Settings(tools=ToolsSettings(sessions=sessions, **more))


@requirement("S2.send.nowait")
async def test_without_a_wait_the_message_is_queued_and_the_call_returns_at_once(talk: Talk) -> None:
    answer, _ = await talk.call(timeoutSeconds=0)
    assert answer == {
        "runId": talk.first,
        "status": "accepted",
        "sessionKey": str(TELLER),
        "delivery": PENDING,
    }
    assert (await talk.engine.run(talk.first)).state == "queued"


@requirement("S2.send.wait")
@pytest.mark.parametrize(("asked", "seconds"), [({}, 30), ({"timeoutSeconds": 5}, 5), ({"timeoutSeconds": 9999}, 600)])
async def test_a_call_waits_as_long_as_it_asks_within_bounds(
    sqlite_talk: Talk, asked: dict[str, Any], seconds: int
) -> None:
    _, result = await sqlite_talk.call(**asked)
    assert result.wait is not None
    assert result.wait.until == sqlite_talk.engine.clock.now_ms() + seconds * 1000


@requirement("S2.send.wait", "S2.x.reply.own")
async def test_the_reply_is_that_of_the_sent_message(talk: Talk) -> None:
    await talk.engine.say(TELLER, "from somebody else")
    await talk.call()
    await talk.run_next(TELLER, "an older answer")
    assert (await talk.engine.run(talk.first)).state == "queued"
    await talk.run_next(TELLER, "three")
    answer = await talk.finish()
    assert answer == {
        "runId": talk.first,
        "status": "ok",
        "reply": "three",
        "sessionKey": str(TELLER),
        "delivery": PENDING,
    }


@requirement("S2.send.timeout", "S2.x.reply.own")
async def test_the_run_continues_when_the_wait_ends_first(talk: Talk) -> None:
    await talk.engine.say(TELLER, "from somebody else")
    await talk.call()
    await talk.run_next(TELLER, "an older answer")
    talk.advance(30)
    answer = await talk.finish()
    assert (answer["runId"], answer["status"]) == (talk.first, "timeout")
    assert "sessions_history" in answer["error"]
    assert "reply" not in answer
    await talk.run_next(TELLER, "three")
    assert (await talk.engine.run(talk.first)).reply == "three"


@requirement("S2.send.error")
async def test_a_failed_run_is_reported_as_an_error(talk: Talk) -> None:
    await talk.call()
    await talk.run_next(TELLER, Failed(code="broken", message="It broke."))
    answer = await talk.finish()
    assert (answer["runId"], answer["status"]) == (talk.first, "error")
    assert "It broke." in answer["error"]


@requirement("S2.send.error")
async def test_a_stopped_run_is_reported_as_an_error(sqlite_talk: Talk) -> None:
    await sqlite_talk.call()
    await sqlite_talk.engine.db.write(lambda tx: stop_lane(tx, sqlite_talk.engine.access, str(TELLER), "stopped"))
    answer = await sqlite_talk.finish()
    assert (answer["status"], "stopped" in answer["error"]) == ("error", True)


@requirement("S2.x.noreply.stops")
@pytest.mark.parametrize("silence", ["NO_REPLY", " REPLY_SKIP\n"])
async def test_a_no_reply_token_is_returned_as_an_empty_reply(sqlite_talk: Talk, silence: str) -> None:
    await sqlite_talk.call()
    await sqlite_talk.run_next(TELLER, silence)
    answer = await sqlite_talk.finish()
    assert (answer["status"], answer["reply"]) == ("ok", "")


@requirement("S2.send.provenance")
async def test_the_provenance_names_the_sending_session(talk: Talk) -> None:
    await talk.call(timeoutSeconds=0)
    run = await talk.engine.run(talk.first)
    source = run.source()
    assert (source.kind, source.source_session_key) == ("inter_session", str(ASKER))
    assert (source.source_channel, source.source_tool, run.actor_id) == ("api", "sessions_send", "asker")
    assert run.parent_run_id == talk.caller.own_run.id


@requirement("S2.send.params")
@pytest.mark.parametrize(
    "wrong",
    [
        {"message": ""},
        {"message": " \n "},
        {"sessionKey": ""},
        {"sessionKey": "no such: thing"},
        {"sessionKey": "global"},
        {"timeoutSeconds": "soon"},
        {"to": "teller"},
        {"message": None},
    ],
)
async def test_missing_or_malformed_parameters_are_refused(sqlite_talk: Talk, wrong: dict[str, Any]) -> None:
    answer, _ = await sqlite_talk.call(**wrong)
    assert answer["ok"] is False
    assert answer["error"]["code"] in ("invalid_params", "reserved_session_key")
    assert await sqlite_talk.engine.runs(TELLER) == []


@requirement("S2.x.nodeadlock")
@pytest.mark.parametrize("spelling", ["current", "main", str(ASKER), "agent:asker:main:v1"])
async def test_a_session_cannot_send_to_itself(sqlite_talk: Talk, spelling: str) -> None:
    answer, _ = await sqlite_talk.call(sessionKey=spelling)
    assert (answer["status"], answer["code"]) == ("forbidden", "self_send")
    assert "runId" not in answer, "there is no run"
    assert len(await sqlite_talk.engine.runs(ASKER)) == 1


@requirement("S2.send.forbidden", "S2.visibility.everywhere")
@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        (only("self"), "visibility is self"),
        (only("tree"), "visibility is tree"),
        (only("agent"), "visibility is agent"),
        (only("all"), "agent_to_agent.enabled"),
        (
            only("all", agent_to_agent=ToolsAgentToAgentSettings(enabled=True, allow=("asker",))),
            "agent_to_agent.allow",
        ),
    ],
)
async def test_a_refused_target_names_the_rule_that_refused(sqlite_url: str, settings: Settings, rule: str) -> None:
    async with open_talk(sqlite_url, settings=settings) as talk:
        answer, _ = await talk.call()
        assert (answer["status"], answer["code"]) == ("forbidden", "forbidden")
        assert rule in answer["error"]
        assert "runId" not in answer, "there is no run"
        assert await talk.engine.runs(TELLER) == []


@requirement("S2.send.forbidden", "S2.policy.enforced")
async def test_a_send_policy_refuses_and_is_named(sqlite_talk: Talk) -> None:
    rule = SendRule(action="deny", match=SendMatch(key_prefix="agent:teller:"))
    sqlite_talk.change_house(rules=Rules(send_policy=SendPolicySettings(rules=(rule,))))
    answer, _ = await sqlite_talk.call()
    assert (answer["status"], answer["code"]) == ("forbidden", "send_denied")
    assert "sessions.send_policy" in answer["error"]
    assert await sqlite_talk.engine.db.read(lambda tx: lane_of(tx, sqlite_talk.engine.access, TELLER)) is None


@requirement("S2.x.queue.nodrop")
async def test_a_full_lane_is_reported_and_stays_unchanged(talk: Talk) -> None:
    talk.change_house(rules=Rules(runs=RunsSettings(lane_queue_max=2)))
    statuses = [(await talk.call(f"1:{n}", timeoutSeconds=0))[0]["status"] for n in range(4)]
    assert statuses == ["accepted", "accepted", "error", "error"]
    assert await talk.engine.depth(TELLER) == len(await talk.engine.runs(TELLER)) == 2


async def test_a_stopping_server_accepts_no_message(sqlite_talk: Talk) -> None:
    sqlite_talk.change_house(draining=lambda: True)
    answer, _ = await sqlite_talk.call()
    assert (answer["status"], answer["code"]) == ("error", "draining")


@requirement("S2.send.params")
@pytest.mark.parametrize("missing", ["agent:teller:task:none", "agent:nobody:main", "ses_" + "0" * 26, "nosuchchat"])
async def test_a_missing_session_is_named_in_the_error(sqlite_talk: Talk, missing: str) -> None:
    answer, _ = await sqlite_talk.call(sessionKey=missing)
    assert (answer["status"], answer["code"]) == ("error", "not_found")
    assert missing in answer["error"]


async def test_a_repeated_call_sends_once(sqlite_talk: Talk) -> None:
    first, _ = await sqlite_talk.call(timeoutSeconds=0)
    again, _ = await sqlite_talk.call(timeoutSeconds=0)
    assert first == again
    assert len(await sqlite_talk.engine.runs(TELLER)) == 1


async def test_messages_between_lanes_do_not_change_their_channels(sqlite_talk: Talk) -> None:
    await sqlite_talk.call(sessionKey=str(TELLER), timeoutSeconds=0)
    run = await sqlite_talk.engine.run(sqlite_talk.first)
    assert run.channel == "internal"
    row = await sqlite_talk.engine.db.read(
        lambda tx: tx.one("SELECT last_channel FROM lanes WHERE key = :key", key=str(TELLER))
    )
    assert row == (None,)
