"""A server that is killed while it posts an answer loses nothing of it."""

import asyncio
from pathlib import Path

import httpx

from tests.harness.process import RunningServer, clean_environment
from tests.requirements.mark import requirement
from tests.surfaces.telegram.bot_api import TOKEN, Answer, BotApi
from tests.surfaces.telegram.chats import ADDRESS, OWNER, SECRET, message


@requirement("S3.id.delivery")
async def test_a_server_that_is_killed_while_it_says_something_says_it_after_its_next_start(
    tmp_path: Path, api: BotApi
) -> None:
    prefix = "CARREL_CHANNELS__TELEGRAM__"
    bot = {"BOT_TOKEN": TOKEN, "WEBHOOK_SECRET": SECRET, "API_BASE_URL": api.url, "OWNER_IDS": f"[{OWNER}]"}
    environment = clean_environment(tmp_path, **{prefix + name: value for name, value in bot.items()})
    folder = tmp_path / "server"
    folder.mkdir()
    gate = asyncio.Event()
    api.script(Answer(gate=gate))
    server = await asyncio.to_thread(RunningServer, folder, environment)
    try:
        async with httpx.AsyncClient() as telegram:
            (await telegram.post(server.url + ADDRESS, json=message("/whoami"))).raise_for_status()
        await api.said(1)
        await asyncio.to_thread(server.kill)
    finally:
        await asyncio.to_thread(server.close)
    gate.set()
    server = await asyncio.to_thread(RunningServer, folder, environment)
    try:
        first, second = await api.said(2)
    finally:
        await asyncio.to_thread(server.close)
    assert first == second
    assert TOKEN not in server.log_file.read_text()
