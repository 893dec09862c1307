"""The index survives backup and restore, on and between both engines."""

import asyncio
from pathlib import Path

from carrel.storage import back_up, restore
from tests.harness.engine import open_engine
from tests.search.board import Board, MeaningsOf, open_board


async def test_what_was_found_before_a_backup_is_found_after_it_was_restored(
    store_url: str, postgres_url: str, tmp_path: Path
) -> None:
    meanings = MeaningsOf("car vehicle")
    async with open_board(store_url, meanings) as board:
        await board.put("e1", "a vehicle")
        await board.put("e2", "a gasket")
        await board.put("e3", "another gasket")
        await board.remove("e3")
    await asyncio.to_thread(back_up, store_url, tmp_path / "backup.db")
    file = f"sqlite:///{tmp_path / 'restored.db'}"
    for restored in (file, postgres_url) if store_url != postgres_url else (file,):
        await asyncio.to_thread(restore, tmp_path / "backup.db", restored)
        async with open_engine(restored) as engine:
            again = Board(engine, meanings)
            assert (await again.logs("car"), await again.logs("gaskets")) == (["e1"], ["e2"])
