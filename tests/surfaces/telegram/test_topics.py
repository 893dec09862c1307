"""A spawned session that continues in a topic of the requester's forum."""

import json
from typing import Any

from msgspec import structs

from carrel.chats import chat_key
from carrel.kernel.settings import SessionsSettings, ThreadBindingsSettings
from tests.requirements.mark import requirement
from tests.surfaces.telegram.bot_api import BotApi
from tests.surfaces.telegram.chats import GROUP, bot_house, group, message, post, telegram_settings

TEAM = f"agent:main:{chat_key('telegram', 'group', GROUP)}"


def spawning(**more: Any) -> str:
    return f"do {json.dumps([['sessions_spawn', {'task': 'look into it', **more}]])}"


@requirement("S2.spawn.thread")
@requirement("S2.spawn.mode.session")
async def test_a_spawn_with_a_thread_gets_a_topic_and_hears_later_lines_of_it(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message(spawning(thread=True, label="The matter", cleanup="delete"), chat=group()))
        (made,) = await api.called(1, "createForumTopic")
        assert made == {"chat_id": GROUP, "name": "The matter"}
        said = await api.called(2, "sendMessage")
        topics = {body.get("message_thread_id"): body["text"] for body in said}
        # What the child answers is said in its topic, what the requester answers in the group.
        assert topics[101] == "echo: look into it"
        runs = (await client.get("/api/runs", params={"provenance": "spawn"})).json()["runs"]
        child = runs[0]["sessionKey"]
        await post(client, message("and the cost?", chat=group(), message_thread_id=101, is_topic_message=True))
        while "echo: and the cost?" not in api.texts():
            await api.said(len(api.texts()) + 1)
        newest = (await client.get("/api/runs", params={"sessionKey": child})).json()["runs"]
        assert "and the cost?" in [run["message"]["text"] for run in newest]
        in_topic = [body["text"] for body in await api.called(1, "sendMessage") if "message_thread_id" in body]
        assert in_topic == ["echo: look into it", "echo: and the cost?"], "its answers, and none of its notes"


@requirement("S2.spawn.key", "S2.subannounce.posts")
async def test_a_spawn_without_a_thread_says_nothing_itself_and_its_requester_tells_what_came_of_it(
    store_url: str, api: BotApi
) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message(spawning(), chat=group()))
        said = {body["text"].splitlines()[0]: body for body in await api.called(3, "sendMessage")}
        assert {"done", "Status: completed"} < set(said)
        assert "\nResult: echo: look into it\n" in said["Status: completed"]["text"]
        (woken,) = set(said) - {"done", "Status: completed"}
        assert woken.startswith("echo: Stats:"), "what the requester says to the result"
        assert all(body == {"chat_id": GROUP, "text": body["text"]} for body in said.values())


@requirement("S2.spawn.mode.session")
async def test_a_child_that_was_put_away_comes_back_when_somebody_speaks_in_its_topic(
    sqlite_url: str, api: BotApi
) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (_, client):
        await post(client, message(spawning(thread=True), chat=group()))
        await api.called(2, "sendMessage")
        child = (await client.get("/api/runs", params={"provenance": "spawn"})).json()["runs"][0]["sessionKey"]
        assert (await client.post(f"/api/sessions/{child}/archive")).status_code == 200
        await post(client, message("still here?", chat=group(), message_thread_id=101, is_topic_message=True))
        while "echo: still here?" not in api.texts():
            await api.said(len(api.texts()) + 1)
        runs = (await client.get("/api/runs", params={"sessionKey": child})).json()["runs"]
        assert "still here?" in [run["message"]["text"] for run in runs]


@requirement("S2.spawn.thread")
async def test_no_topic_is_made_where_threads_are_switched_off_or_the_channel_has_none(
    sqlite_url: str, api: BotApi
) -> None:
    off = SessionsSettings(thread_bindings=ThreadBindingsSettings(enabled=False))
    async with bot_house(sqlite_url, structs.replace(telegram_settings(api), sessions=off)) as (server, client):
        await post(client, message(spawning(thread=True), chat=group()))
        await api.said(1)
        assert (await client.get("/api/runs", params={"provenance": "spawn"})).json()["runs"] == []
        assert "thread_unsupported" in json.dumps(server.agent.bodies[-1])
        assert [call.method for call in api.calls] == ["sendMessage"]


@requirement("S2.spawn.thread")
async def test_a_group_that_is_no_forum_is_told_so_and_no_child_is_made(sqlite_url: str, api: BotApi) -> None:
    async with bot_house(sqlite_url, telegram_settings(api)) as (server, client):
        api.refuse("createForumTopic", 400, "Bad Request: the chat is not a forum")
        await post(client, message(spawning(thread=True), chat=group(is_forum=False)))
        await api.said(1)
        assert "the chat is not a forum" in json.dumps(server.agent.bodies[-1])
        assert (await client.get("/api/runs", params={"provenance": "spawn"})).json()["runs"] == []
