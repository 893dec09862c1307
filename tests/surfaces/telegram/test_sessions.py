"""Commands and sessions in a chat: one pointer for both, and messages that no person asked for."""

import json
import re

from msgspec import structs

from carrel.chats import chat_key
from carrel.kernel.settings import ToolsAgentToAgentSettings, ToolsSessionsSettings, ToolsSettings
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait, session_of
from tests.surfaces.telegram.bot_api import Answer, BotApi
from tests.surfaces.telegram.chats import GROUP, OWNER, STRANGER, bot_house, group, message, post, telegram_settings
from tests.surfaces.telegram.post_retries import hurry, until_put_off, until_told

DIRECT = f"agent:main:{chat_key('telegram', 'direct', OWNER)}"
TEAM_REST = chat_key("telegram", "group", GROUP)
TEAM = f"agent:main:{TEAM_REST}"


@requirement("S3.id.pointer")
@requirement("S3.id.delivery")
async def test_commands_and_lines_of_a_chat_go_to_the_session_in_front_of_it(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message("first"))
        await api.said(1)
        await post(client, message("/new"))
        made = (await api.said(2))[1].split()[2]
        await post(client, message("second"))
        assert (await api.said(3))[2] == "echo: second"
        newest = (await client.get("/api/runs")).json()["runs"][0]
        assert newest["sessionKey"] == f"agent:main:telegram:{made}"
        await post(client, message(f"/switch {DIRECT}"))
        await post(client, message("third"))
        assert (await api.said(5))[4] == "echo: third"
        newest = (await client.get("/api/runs")).json()["runs"][0]
        assert newest["sessionKey"] == DIRECT
        active = await client.get(
            "/api/sessions/active", params={"channelType": "telegram", "clientInstanceId": str(OWNER)}
        )
        assert active.json()["sessionKey"] == DIRECT
        # State is looked up by the session, and only what is said goes to the chat.
        assert {body["chat_id"] for body in await api.called(5, "sendMessage")} == {OWNER}


async def test_a_command_as_the_first_line_makes_the_session_that_a_message_would(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("/model tiny", chat=group()))
        assert await api.said(1) == ["This session uses tiny from the next message on."]
        assert (await session_of(client, TEAM))["model"] == "tiny"
        await post(client, message("hello", chat=group()))
        assert (await api.said(2))[1] == "echo: hello"
        assert [run["sessionKey"] for run in (await client.get("/api/runs")).json()["runs"]] == [TEAM]


async def test_who_opens_the_chat_is_told_what_there_is(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("/start from-a-link"))
        (said,) = await api.said(1)
        assert "/help" in said
        assert (await client.get("/api/runs")).json()["runs"] == []


async def test_a_deleted_session_leaves_a_group_with_its_own_and_with_nothing_from_other_chats(
    sqlite_url: str, api: BotApi
) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message("/new"))
        await post(client, message("a private matter"))
        await post(client, message("hello", chat=group()))
        await api.said(3)
        assert (await client.delete(f"/api/sessions/{TEAM}")).status_code == 204
        await post(client, message("are you there", chat=group()))
        await api.said(4)
        newest = (await client.get("/api/runs")).json()["runs"][0]
        assert newest["sessionKey"] == TEAM


async def test_a_chat_lists_its_own_sessions_and_none_of_other_chats(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        for line in (message("/new"), message("a private matter"), message("hello", chat=group())):
            await post(client, line)
        private = (await api.said(3))[0].split()[2]
        await post(client, message("/new", chat=group()))
        shared = (await api.said(4))[3].split()[2]
        await post(client, message("/sessions", chat=group()))
        await post(client, message("/sessions"))
        in_group, alone = (await api.said(6))[4:]
        assert in_group.splitlines() == [f"* {shared} (main)", f"- {TEAM_REST} (main) The team"]
        assert alone.splitlines()[0] == f"* {private} (main) a private matter"
        assert shared not in alone
        await post(client, message(f"/switch {TEAM_REST}", chat=group()))
        assert (await api.said(7))[6].startswith(f"Switched to {TEAM_REST}")


PEOPLES_COMMANDS = (
    "/goal paint", "/goals", "/tasks", "/plan on", "/auto on", "/auto status", "/schedule list", "/memory", "/context",
    "/receipt", "/whoami", "/switch nothing", "/switch agent:main:main", "/new nobody", "/stop", "/send off",
)  # fmt: skip


async def test_a_stranger_reads_nothing_of_tokens_and_keys(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api, open=True)) as (_, client):
        said = []
        for command in PEOPLES_COMMANDS:
            answer = await post(client, message(command, sender=STRANGER))
            said += [answer["text"]] if answer else []
        said += await api.said(len(PEOPLES_COMMANDS) - len(said))
        for words in said:
            assert not re.search(r"token|kind |client|session key|account", words), words
        assert said.count("Only the owner of this bot may use /goal in this way.") == 1
        assert f"You are Person {STRANGER}, a guest of this bot." in said


async def test_help_is_not_in_columns(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        for command in ("/help", "/auto help", "/schedule help", "/memory help"):
            await post(client, message(command))
        for said in await api.said(4):
            assert "  " not in said
        assert "/new [agent]: start a new session and switch to it\n" in (await api.said(4))[0]


async def test_stop_ends_what_runs_in_the_chats_session(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        await post(client, message("hold here"))
        await server.agent.reached("here")
        await post(client, message("/stop"))
        assert await api.said(1) == ["Cancelled 1 run."]
        await post(client, message("and now"))
        assert await api.said(2) == ["Cancelled 1 run.", "echo: and now"]


@requirement("S2.announce.post")
async def test_what_an_exchange_came_to_is_announced_in_the_chat_of_the_lane_that_was_asked(
    store_url: str, api: BotApi
) -> None:
    tools = ToolsSettings(
        sessions=ToolsSessionsSettings(visibility="all"), agent_to_agent=ToolsAgentToAgentSettings(enabled=True)
    )
    settings = structs.replace(telegram_settings(api), tools=tools)
    async with bot_house(store_url, settings) as (server, client):
        await post(client, message("hello", chat=group()))
        await api.said(1)
        # The first offer fails and is made again, under the same id and so no second time.
        api.script(Answer(status=500, description="Internal Server Error"))
        send = ["sessions_send", {"sessionKey": TEAM, "message": "tell the team", "timeoutSeconds": 0}]
        await send_and_wait(client, f"do {json.dumps([send])}")
        await until_put_off(server.db)
        (asked,) = (await client.get("/api/runs", params={"provenance": "inter_session"})).json()["runs"]
        assert asked["announce"]["state"] == "pending"
        await hurry(server.db)
        said = await api.called(3, "sendMessage")
        assert [body["chat_id"] for body in said] == [GROUP] * 3
        assert "What is to be said on your channel?" in said[1]["text"]
        assert said[1] == said[2]
        await until_told(server.db, "announce.delivered")
