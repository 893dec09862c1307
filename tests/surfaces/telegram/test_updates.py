"""The ids of chats and people on Telegram are for delivery alone: no key, actor or log line has them."""

import json
import logging

import pytest
from msgspec import structs

from carrel.chats import chat_key, move_pointer, person_id
from carrel.kernel import SessionKey, system_access
from carrel.kernel.settings import LogSettings
from carrel.main.logs import set_up_logs
from carrel.sessions import make_lane
from carrel.storage import Tx
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import settled
from tests.surfaces.telegram.bot_api import BotApi
from tests.surfaces.telegram.chats import GROUP, OWNER, STRANGER, bot_house, group, message, post, telegram_settings

IDS = [str(abs(one)) for one in (OWNER, STRANGER, GROUP)]
OLD = SessionKey.of("main", f"telegram:direct:{OWNER}")
DIRECT = f"agent:main:{chat_key('telegram', 'direct', OWNER)}"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The log lines as they are written."""
    root = logging.getLogger()
    before = list(root.handlers)
    set_up_logs(LogSettings(level="debug"))
    (handler,), root.handlers[:] = root.handlers, before
    lines: list[str] = []
    monkeypatch.setattr(handler, "emit", lambda record: lines.append(handler.format(record)))
    monkeypatch.setattr(root, "handlers", [*before, handler])
    return lines


async def session_before(server: HttpServer) -> None:
    """The session that a chat with the bot had before keys held hashes, made by the person of that time."""
    access = await server.access_of()
    person = system_access(access.account_id, access.account_slug)

    def work(tx: Tx) -> None:
        maker = structs.replace(person, actor_id=f"telegram:{OWNER}")
        move_pointer(tx, maker, "telegram", str(OWNER), make_lane(tx, maker, OLD), "message")

    await server.db.write(work)


@requirement("I.transport")
async def test_no_log_line_of_a_chat_names_it_or_its_members(store_url: str, api: BotApi, written: list[str]) -> None:
    async with bot_house(store_url, telegram_settings(api, open=True)) as (_, client):
        for sent in ("hello", "/plan on", "/plan off", "/new", "again", "/auto on paint the door", "/auto off"):
            await post(client, message(sent))
        await post(client, message("hello", sender=STRANGER, chat=group(), message_thread_id=7, is_topic_message=True))
        await post(client, message("/status", sender=STRANGER))
        await api.said(9)
        runs = (await client.get("/api/runs")).json()["runs"]
    assert {json.loads(line)["event"] for line in written} >= {"turn_started", "command"}
    shown = "\n".join(written)
    assert [one for one in IDS if one in shown] == []
    assert person_id("telegram", OWNER) in shown
    assert [one for one in IDS if one in str([run["sessionKey"] for run in runs])] == []


@requirement("I.transport")
async def test_a_chat_goes_on_in_the_session_it_had_and_its_key_is_logged_as_a_hash(
    store_url: str, api: BotApi, written: list[str]
) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (server, client):
        await session_before(server)
        await post(client, message("hello"))
        await post(client, message("/status"))
        await api.said(2)
        (run,) = (await client.get("/api/runs")).json()["runs"]
        assert run["sessionKey"] == str(OLD)
    lines = [json.loads(line) for line in written]
    assert DIRECT in [line.get("session_key") for line in lines]
    assert str(OWNER) not in "\n".join(written)


async def test_a_session_that_is_not_the_active_one_of_its_chat_says_which_it_is(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message("hello"))
        await api.said(1)
        wanted = {"type": "message", "message": "report", "cron": "0 6 * * *", "sessionId": DIRECT}
        schedule = (await client.post("/api/schedules", json=wanted)).json()["schedule"]
        await post(client, message("/new"))
        await api.said(2)
        fired = (await client.post(f"/api/schedules/{schedule['id']}/run")).json()
        await settled(client, fired["runId"])
        assert (await api.said(3))[2] == f"[Person {OWNER}] echo: report"
        await post(client, message(f"/switch {DIRECT}"))
        fired = (await client.post(f"/api/schedules/{schedule['id']}/run")).json()
        await settled(client, fired["runId"])
        assert (await api.said(5))[4] == "echo: report"
