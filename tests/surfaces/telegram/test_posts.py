"""Replies reach the chat in order, in parts, and again after failures and restarts; no turn waits for it."""

import asyncio

import httpx
import pytest
from msgspec import convert

from carrel.chats import chat_key
from carrel.kernel.limits import TELEGRAM_MESSAGE_UNITS_MAX
from carrel.runs import Run
from carrel.surfaces.telegram.phrases import outcome_words, parts_of
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import settled
from tests.surfaces.telegram.bot_api import TOKEN, Answer, BotApi
from tests.surfaces.telegram.chats import GROUP, OWNER, STRANGER, bot_house, group, message, post, telegram_settings
from tests.surfaces.telegram.post_retries import hurry, until_put_off

DIRECT = f"agent:main:{chat_key('telegram', 'direct', OWNER)}"


async def newest_run(client: httpx.AsyncClient) -> str:
    return str((await client.get("/api/runs")).json()["runs"][0]["id"])


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


async def test_answers_of_one_chat_go_out_in_the_order_they_were_given(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        for number in range(8):
            await post(client, message(f"line {number}"))
        assert await api.said(8) == [f"echo: line {number}" for number in range(8)]


async def test_a_long_answer_is_said_in_parts_and_nothing_of_it_is_lost(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        words = " ".join(f"word-{number}" for number in range(1_000))
        await post(client, message(words))
        said = await api.said(3)
        assert all(units(part) <= TELEGRAM_MESSAGE_UNITS_MAX for part in said)
        assert " ".join(said) == f"echo: {words}"


@pytest.mark.parametrize(
    "text", ["x" * 9_000, "😀" * 5_000, "a line\n" * 2_000, " ".join(["word"] * 3_000), "one\n\n\n\ntwo", "  "]
)
def test_parts_fit_and_hold_every_sign_but_the_space_where_they_were_cut(text: str) -> None:
    parts = parts_of(text)
    assert all(part.strip() and units(part) <= TELEGRAM_MESSAGE_UNITS_MAX for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


async def test_too_many_requests_are_waited_for_as_long_as_telegram_says(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        api.script(Answer(status=429, description="Too Many Requests", parameters={"retry_after": 3_600}))
        await post(client, message("hello"))
        await api.said(1)
        assert await until_put_off(server.db) > 3_500_000
        # What comes later in that chat does not overtake; other chats are not held up.
        await post(client, message("/whoami"))
        await post(client, message("hello", chat=group()))
        await api.said(2)
        assert api.texts(OWNER) == ["echo: hello"]
        assert api.texts(GROUP) == ["echo: hello"]


async def test_a_failed_call_is_made_again(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        api.script(Answer(status=502, description="Bad Gateway"), Answer(cut=True))
        await post(client, message("hello"))
        for _ in range(2):
            await until_put_off(server.db)
            await hurry(server.db)
        assert await api.said(3) == ["echo: hello"] * 3
        run = await settled(client, await newest_run(client))
        assert run["state"] == "completed"


async def test_a_chat_that_can_never_be_reached_holds_up_nobody(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        api.script(Answer(status=403, description="Forbidden: bot was blocked by the user"))
        await post(client, message("hello", sender=STRANGER))
        await api.said(1)
        await post(client, message("hello"))
        await post(client, message("again", sender=STRANGER))
        await api.said(3)
        assert api.texts(OWNER) == ["echo: hello"]
        assert api.texts(STRANGER) == ["echo: hello", "echo: again"]


@requirement("S3.id.delivery")
async def test_an_answer_survives_a_restart_and_goes_on_with_the_part_it_stood_at(store_url: str, api: BotApi) -> None:
    settings, gate = telegram_settings(api), asyncio.Event()
    long = " ".join(f"word-{number}" for number in range(1_000))
    async with bot_house(store_url, settings) as (_, client):
        api.script(Answer(), Answer(gate=gate))
        await post(client, message(long))
        await api.said(2)
    # Stopped in the middle of the second part, of which it never learnt that it was taken.
    gate.set()
    async with bot_house(store_url, settings) as (server, _):
        await hurry(server.db)
        said = await api.said(4)
    assert said[1] == said[2]
    assert " ".join([said[0], *said[2:]]) == f"echo: {long}"


async def test_a_turn_never_waits_for_telegram(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        gate = asyncio.Event()
        api.script(Answer(gate=gate))
        await post(client, message("one"))
        await api.said(1)
        await post(client, message("two"))
        assert (await settled(client, await newest_run(client)))["reply"] == "echo: two"
        assert api.texts() == ["echo: one"]
        gate.set()
        assert await api.said(2) == ["echo: one", "echo: two"]


async def test_a_failure_is_told(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("fail"))
        (told,) = await api.said(1)
        assert told.startswith("That did not work: ")


async def test_a_line_that_is_said_again_by_hand_is_answered_in_its_chat_as_well(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("fail"))
        await api.said(1)
        assert (await client.post(f"/api/runs/{await newest_run(client)}/retry")).status_code == 202
        assert len(set(await api.said(2))) == 1


@pytest.mark.parametrize("reply", ["NO_REPLY", " REPLY_SKIP\n", "ANNOUNCE_SKIP", "", None])
def test_an_agent_that_has_nothing_to_say_is_not_quoted(reply: str | None) -> None:
    assert outcome_words(ended_run(reply), "completed") is None
    assert outcome_words(ended_run(f"It said {reply}."), "completed") == f"It said {reply}."


def ended_run(reply: str | None) -> Run:
    at = {"created_at": 1, "updated_at": 2}
    bounds = {"seq": 1, "attempts_max": 5, "timeout_ms": 0, "attempt": 1, "claim_no": 1}
    unset = dict.fromkeys(
        ("auto_run_id", "deadline_at", "generation", "patience_ms", "started_at", "task_id", "unreachable_since")
    )
    chat_address = {"account_id": "acc_1", "key": DIRECT, "agent_id": "main", "channel": "telegram"}
    said = {"actor_id": "telegram:1", "message_id": "ent_1", "text": "hello"}
    source = {"provenance": "{}", "provenance_kind": "external_user"}
    return convert(
        {
            "id": "run_1",
            "state": "completed",
            "reply": reply,
            **at,
            **bounds,
            **unset,
            **chat_address,
            **said,
            **source,
        },
        Run,
    )


@requirement("S2.policy.enforced")
async def test_a_reply_is_not_carried_where_sending_was_denied_meanwhile(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        await post(client, message("hold here"))
        await server.agent.reached("here")
        await post(client, message("/send off"))
        assert await api.said(1) == ["Sending is now denied here."]
        server.agent.release("here")
        assert (await settled(client, await newest_run(client)))["state"] == "completed"
        await post(client, message("/send on"))
        assert await api.said(2) == ["Sending is now denied here.", "Sending is now allowed here."]


async def test_a_question_is_asked_in_the_chat_and_the_next_line_answers_it(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message("ask Which colour?"))
        assert await api.said(1) == ["Which colour?"]
        await post(client, message("blue"))
        assert (await api.said(2))[1] == "echo: blue"
        (run,) = (await client.get("/api/runs")).json()["runs"]
        assert run["state"] == "completed"


async def test_only_the_owners_yes_or_no_decides_whether_a_tool_may_be_used(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        asking = {"tools": {"allow": ["*"], "deny": [], "ask": ["sessions_list"]}}
        assert (await client.patch("/api/agents/main", json=asking)).status_code == 200
        await post(client, message('do [["sessions_list", {}]]', chat=group()))
        (question,) = await api.said(1)
        assert question.startswith("May main list the sessions that it may see? (sessions_list)")
        asked = await newest_run(client)
        await post(client, message("yes", sender=STRANGER, chat=group()))
        await post(client, message("perhaps", chat=group()))
        assert await api.said(3) == [question, "echo: yes", "echo: perhaps"]
        assert (await settled(client, asked))["state"] == "waiting"
        await post(client, message("Yes.", chat=group()))
        await api.said(4)
        ended = await settled(client, asked)
        assert (ended["state"], ended["toolsCalled"]) == ("completed", ["sessions_list"])


async def test_lines_said_elsewhere_in_the_session_are_not_answered_on_telegram(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("hello"))
        await api.said(1)
        answer = await client.post("/api/chat", json={"text": "from the desk", "sessionKey": DIRECT})
        assert (await settled(client, answer.json()["runId"]))["reply"] == "echo: from the desk"
        await post(client, message("/whoami"))
        assert len(await api.said(2)) == 2
        assert "echo: from the desk" not in api.texts()


async def test_the_bots_token_is_in_no_log(sqlite_url: str, api: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="carrel")
    async with bot_house(sqlite_url, telegram_settings(api, api_base_url="http://127.0.0.1:9")) as (server, client):
        await post(client, message("hello"))
        await until_put_off(server.db)
    # The HTTP library tells whole addresses, and is silenced where a server starts.
    told = [record for record in caplog.records if record.name.startswith("carrel")]
    shown = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in told)
    assert "post_again" in shown
    assert TOKEN not in shown
