"""The reply to a schedule's message is posted to the chat of its session."""

from carrel.chats import chat_key
from tests.surfaces.api_calls import settled
from tests.surfaces.telegram.bot_api import BotApi
from tests.surfaces.telegram.chats import OWNER, bot_house, message, post, telegram_settings

DIRECT = f"agent:main:{chat_key('telegram', 'direct', OWNER)}"


async def test_the_answer_to_a_schedule_comes_to_the_chat_of_its_session(store_url: str, api: BotApi) -> None:
    async with bot_house(store_url, telegram_settings(api)) as (_, client):
        await post(client, message("hello"))
        assert await api.said(1) == ["echo: hello"]
        wanted = {"type": "message", "message": "report", "cron": "0 6 * * *", "sessionId": DIRECT}
        schedule = (await client.post("/api/schedules", json=wanted)).json()["schedule"]
        fired = (await client.post(f"/api/schedules/{schedule['id']}/run")).json()
        assert (await settled(client, fired["runId"]))["sessionKey"] == DIRECT
        assert await api.said(2) == ["echo: hello", "echo: report"]
        await post(client, message("/schedule list"))
        assert schedule["id"] in (await api.said(3))[-1]
