"""A process that writes events until it is killed: `python -m tests.stress.writer URL SEED`."""

import asyncio
import random
import sys
import threading
import time

from carrel.journal import json_text
from carrel.kernel import system_access
from carrel.main.assembly import open_store
from carrel.storage import Tx

ACCOUNT = "acc_stress"
_TASKS = 6
_pause = threading.Event()


class _Undone(Exception):
    """A transaction that ends without a commit, as some do."""


def _write(tx: Tx, chance: random.Random) -> None:
    """Draw numbers early, dawdle, and commit or not: whoever draws first is often not the first to commit."""
    access = system_access(ACCOUNT)
    for _ in range(chance.randint(1, 3)):
        seq = tx.tick()
        if chance.random() < 0.3:
            _pause.wait(chance.random() * 0.01)
        body = json_text({"at": time.time()})
        sql = "INSERT INTO events (account_id, seq, name, at, body) VALUES (:account, :seq, 'stress', :now, :body)"
        tx.run(sql, access, seq=seq, now=tx.now, body=body)
    if chance.random() < 0.1:
        raise _Undone
    tx.wake("feed")


async def _work(url: str, seed: int) -> None:
    db, chance = open_store(url, durability="normal"), random.Random(seed)

    async def go_on() -> None:
        while True:
            try:
                await db.write(lambda tx: _write(tx, chance))
            except _Undone:
                continue

    await asyncio.gather(*(go_on() for _ in range(_TASKS)))


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], int(sys.argv[2])))
