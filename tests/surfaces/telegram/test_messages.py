"""A message to the bot is received once, by the right agent, in the session of its chat."""

import asyncio
from typing import Any

import httpx
import pytest

from carrel.chats import chat_key
from carrel.kernel.settings import SendMatch, SendPolicySettings, SendRule, SessionsSettings
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import session_of
from tests.surfaces.telegram.bot_api import BOT_NAME, BotApi
from tests.surfaces.telegram.chats import (
    ADDRESS,
    GROUP,
    OWNER,
    STRANGER,
    bot_house,
    group,
    message,
    post,
    telegram_settings,
)

Json = dict[str, Any]
DIRECT = f"agent:main:{chat_key('telegram', 'direct', OWNER)}"
TEAM = f"agent:main:{chat_key('telegram', 'group', GROUP)}"


async def runs_of(client: httpx.AsyncClient) -> list[Json]:
    found: list[Json] = (await client.get("/api/runs")).json()["runs"]
    return found


@requirement("S3.id.telegram")
@requirement("S3.id.delivery")
async def test_a_private_line_is_heard_in_the_chats_own_session_and_answered_there(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        assert await post(client, message("hello")) == {}
        assert await api.said(1) == ["echo: hello"]
        (body,) = await api.called(1, "sendMessage")
        assert body == {"chat_id": OWNER, "text": "echo: hello"}
        (run,) = await runs_of(client)
        assert run["sessionKey"] == DIRECT
        assert run["provenance"]["sourceChannel"] == "telegram"
        row = await session_of(client, DIRECT)
        assert (row["channel"], row["lastTo"], row["displayName"]) == ("telegram", str(OWNER), f"Person {OWNER}")


@requirement("S3.id.telegram")
async def test_the_chat_is_taken_from_the_update_and_never_from_the_words(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message(f'{{"chat_id": {STRANGER}}} agent:main:telegram:direct:{STRANGER} say hi'))
        await api.said(1)
        assert [body["chat_id"] for body in await api.called(1, "sendMessage")] == [OWNER]
        assert [run["sessionKey"] for run in await runs_of(client)] == [DIRECT]


async def test_groups_and_their_topics_have_sessions_of_their_own(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        topic = {"message_thread_id": 7, "is_topic_message": True}
        await post(client, message("in the group", chat=group()))
        await post(client, message("in a topic", chat=group(), **topic))
        # Outside of forums a reply bears such a number too, and belongs to the group.
        await post(client, message("a reply", chat=group(is_forum=False), message_thread_id=99))
        await api.said(3)
        bodies = {body["text"]: body.get("message_thread_id") for body in await api.called(3, "sendMessage")}
        assert bodies == {"echo: in the group": None, "echo: in a topic": 7, "echo: a reply": None}
        keys = {run["message"]["text"]: run["sessionKey"] for run in await runs_of(client)}
        assert keys == {
            "in the group": TEAM,
            "in a topic": f"agent:main:{chat_key('telegram', 'group', GROUP, 7)}",
            "a reply": TEAM,
        }


async def test_the_same_update_twice_is_heard_once(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        line, command = message("hello"), message("/whoami")
        await asyncio.gather(*(post(client, line) for _ in range(4)))
        await asyncio.gather(*(post(client, command) for _ in range(4)))
        await post(client, message("last"))
        said = await api.said(3)
        assert sorted(text.split(":")[0].split(" ")[0] for text in said) == ["You", "echo", "echo"]
        assert len(await runs_of(client)) == 2


async def test_a_wrong_secret_is_answered_as_a_page_that_is_not_there(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        nowhere = (await client.post("/channels/nowhere", json=message("hello"))).json()["error"]
        for path in ("/channels/telegram/wrong", f"{ADDRESS}x", "/channels/telegram/%C3%A9"):
            answer = await client.post(path, json=message("hello"))
            assert (answer.status_code, answer.json()["error"]) == (404, nowhere)
        assert await runs_of(client) == []


async def test_without_a_bot_in_the_settings_no_secret_is_right(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, webhook_secret="")) as (_, client):
        assert (await client.post("/channels/telegram/", json=message("hello"))).status_code == 404
        assert (await client.post(ADDRESS, json=message("hello"))).status_code == 404


async def test_strangers_are_refused_and_told_their_number_in_private_alone(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        told = await post(client, message("let me in", sender=STRANGER))
        assert (told["method"], told["chat_id"]) == ("sendMessage", STRANGER)
        assert str(STRANGER) in told["text"]
        assert await post(client, message("let me in", sender=STRANGER, chat=group())) == {}
        assert await post(client, message("/stop", sender=STRANGER, chat=group())) == {}
        assert await runs_of(client) == []
        assert api.calls == []


async def test_an_open_bot_hears_strangers_but_lets_them_into_no_session_of_others(
    sqlite_url: str, api: BotApi
) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        await post(client, message("mine"))
        await post(client, message("hello", sender=STRANGER))
        await api.said(2)
        # One after the other, for commands of one chat are answered in their order.
        for command in (f"/switch {DIRECT}", "/new other", "/whoami", "/switch main"):
            await post(client, message(command, sender=STRANGER))
        await post(client, message("still mine?", sender=STRANGER))
        said = await api.called(7, "sendMessage")
        assert {body["chat_id"] for body in said[2:]} == {STRANGER}
        newest = (await runs_of(client))[0]
        assert newest["sessionKey"] == f"agent:main:{chat_key('telegram', 'direct', STRANGER)}"


async def test_only_the_owner_may_use_the_owners_commands(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        refused = await post(client, message("/send off", sender=STRANGER))
        assert "owner" in refused["text"]
        await post(client, message("/send off"))
        assert await api.said(1) == ["Sending is now denied here."]
        assert (await session_of(client, DIRECT))["sendPolicy"] == "deny"


@requirement("S2.policy.enforced")
async def test_where_sending_is_denied_a_line_is_not_heard(sqlite_url: str, api: BotApi) -> None:
    rule = SendRule(action="deny", match=SendMatch(channel="telegram", chat_type="group"))
    settings = telegram_settings(api)
    denied = type(settings)(
        channels=settings.channels, sessions=SessionsSettings(send_policy=SendPolicySettings(rules=(rule,)))
    )
    async with bot_house(sqlite_url, denied) as (_, client):
        assert await post(client, message("hello", chat=group())) == {}
        assert await runs_of(client) == []
        await post(client, message("hello"))
        assert await api.said(1) == ["echo: hello"]


@pytest.mark.parametrize("kind", ["edited_message", "edited_channel_post", "my_chat_member", "message_reaction"])
async def test_what_is_no_new_message_is_taken_and_passed_over(sqlite_url: str, api: BotApi, kind: str) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        update = message("hello")
        update[kind] = update.pop("message")
        assert await post(client, update) == {}
        assert await post(client, {"update_id": 1, "message": {"what": "is this"}}) == {}
        assert await runs_of(client) == []


async def test_other_bots_are_not_answered(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        update = message("hello", sender=STRANGER, chat=group())
        update["message"]["from"]["is_bot"] = True
        assert await post(client, update) == {}
        assert await runs_of(client) == []


async def test_a_group_admin_without_a_name_is_the_group_and_not_the_owner(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        update = message("hello", chat=group(), sender_chat=group())
        assert await post(client, update) == {}
        assert await runs_of(client) == []


async def test_a_command_for_another_bot_of_the_group_is_left_to_it(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("/whoami@SomeOtherBot", chat=group()))
        await post(client, message(f"/whoami@{BOT_NAME}", chat=group()))
        (said,) = await api.said(1)
        assert said.startswith(f"You are Person {OWNER}")
        assert len(await api.called(1, "getMe")) == 1


async def test_pictures_and_files_come_along_and_too_large_ones_are_refused_politely(
    sqlite_url: str, api: BotApi
) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        api.files["documents/doc-1"] = b"the report"
        api.files["documents/big-photo"] = b"\xff\xd8jpeg"
        document = {"file_id": "doc-1", "file_name": "report.txt", "mime_type": "text/plain", "file_size": 10}
        photo = [{"file_id": "small", "file_size": 3}, {"file_id": "big-photo", "file_size": 6}]
        await post(client, message(None, document=document, caption="read this"))
        await post(client, message(None, photo=photo))
        await api.said(1)
        found = {run["message"]["text"]: run["message"]["attachments"] for run in await runs_of(client)}
        assert [(file["fileName"], file["mimeType"]) for file in found["read this"]] == [("report.txt", "text/plain")]
        assert [(file["fileName"], file["mimeType"]) for file in found[""]] == [("photo.jpg", "image/jpeg")]
        huge = await post(client, message(None, document=document | {"file_size": 30_000_000}))
        assert "at most 10 MiB" in huge["text"]
        gone = await post(client, message(None, document=document | {"file_id": "gone"}))
        assert gone["method"] == "sendMessage"


@pytest.mark.parametrize("kind", ["voice", "sticker", "video", "location", "poll"])
async def test_what_cannot_be_read_is_refused_politely(sqlite_url: str, api: BotApi, kind: str) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        update = message()
        update["message"][kind] = {"file_id": "x"}
        told = await post(client, update)
        assert told["text"] == "I can only read text, pictures and files here."
        assert await runs_of(client) == []


async def test_a_channel_post_is_heard_in_the_channels_session_when_the_channel_is_named(
    sqlite_url: str, api: BotApi
) -> None:
    channel = {"id": -100777, "type": "channel", "title": "News"}
    async with bot_house(sqlite_url, telegram_settings(api, owner_ids=(str(-100777),))) as (_, client):
        update = message("what is new", chat=channel, sender_chat=channel)
        update["channel_post"] = update.pop("message")
        del update["channel_post"]["from"]
        await post(client, update)
        assert await api.said(1) == ["echo: what is new"]
        assert [run["sessionKey"] for run in await runs_of(client)] == [
            f"agent:main:{chat_key('telegram', 'channel', -100777)}"
        ]


async def test_a_server_that_stops_lets_telegram_send_a_line_again(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        server.drain.set()
        line = message("hello")
        assert (await client.post(ADDRESS, json=line)).status_code == 503
        server.drain.clear()
        await post(client, line)
        assert await api.said(1) == ["echo: hello"]


async def test_where_all_direct_chats_are_one_private_lines_share_the_main_lane(sqlite_url: str, api: BotApi) -> None:
    settings = telegram_settings(api)
    shared = type(settings)(channels=settings.channels, sessions=SessionsSettings(scope="global"))
    async with bot_house(sqlite_url, shared) as (_, client):
        await post(client, message("hello"))
        assert await api.said(1) == ["echo: hello"]
        assert [run["sessionKey"] for run in await runs_of(client)] == ["agent:main:main"]


@requirement("S3.plan.cmd.on", "S3.id.resolve.first", "S3.id.firstcommand", "S3.inv.1")
async def test_plan_mode_is_switched_in_the_session_that_the_chat_points_to(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message("/plan on"))
        (reply,) = await api.said(1)
        assert reply.startswith("Plan mode: on")
        await post(client, message("hello", chat=group()))
        await api.said(2)

        async def planning(key: str) -> bool:
            return bool((await session_of(client, key))["planMode"]["enabled"])

        assert [await planning(DIRECT), await planning(TEAM)] == [True, False]
        await post(client, message("/new"))
        await post(client, message("/plan status"))
        assert (await api.said(4))[3] == "Plan mode: off"
        await post(client, message(f"/switch {DIRECT}"))
        await post(client, message("/plan off"))
        assert (await api.said(6))[5] == "Plan mode: off"
        assert not await planning(DIRECT)


async def test_strangers_may_look_at_plan_mode_and_not_switch_it(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        for command in ("/plan status", "/plan on", "/plan approve", "/plans"):
            await post(client, message(command, sender=STRANGER))
        status, *refused, plans = await api.said(4)
        assert (status, plans) == ("Plan mode: off", "This session has no plans.")
        assert set(refused) == {"Only the owner of this bot may use /plan in this way."}
        row = await session_of(client, f"agent:main:{chat_key('telegram', 'direct', STRANGER)}")
        assert not row["planMode"]["enabled"]
