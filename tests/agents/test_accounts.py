"""Changing the settings of an account."""

import asyncio
import threading

from carrel.access import account_of
from carrel.agents import account_settings, change_account
from carrel.storage import Tx
from tests.harness.engine import SECONDS_MAX, Engine


async def test_concurrent_changes_of_different_settings_are_both_kept(engine: Engine) -> None:
    first_is_done = threading.Event()

    def first(tx: Tx) -> None:
        change_account(tx, engine.access, None, {"briefing": "Be brief."})
        first_is_done.set()

    def second(tx: Tx) -> None:
        assert first_is_done.wait(SECONDS_MAX)
        change_account(tx, engine.access, None, {"orchestratorAgentId": "main"})

    await asyncio.gather(engine.db.write(first), engine.db.write(second))
    settings = account_settings(await engine.db.read(lambda tx: account_of(tx, engine.access)))
    assert (settings["briefing"], settings["orchestratorAgentId"]) == ("Be brief.", "main")
