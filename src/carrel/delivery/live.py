"""Text as it streams: what a turn is saying this moment, for whoever listens in this process.

Nothing here is kept. Who comes late, or listens in another process, reads the stored reply instead.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct

from carrel.kernel.limits import CHAT_FRAMES_WAITING_MAX


class Spoken(Struct, frozen=True):
    """A piece of text of a run; `restart` says that what came before it is void, because the step is taken again."""

    kind: Literal["text", "restart"]
    run_id: str
    key: str
    text: str = ""


class Live:
    """Listeners by (account, session key)."""

    def __init__(self) -> None:
        self._ears: dict[tuple[str, str], set[asyncio.Queue[Spoken]]] = {}

    def say(self, account_id: str, spoken: Spoken) -> None:
        """Tell everyone who listens to that lane now; who does not keep up misses pieces, never the reply."""
        for ear in self._ears.get((account_id, spoken.key), ()):
            if not ear.full():
                ear.put_nowait(spoken)

    @contextmanager
    def listening(self, account_id: str, key: str) -> Iterator[asyncio.Queue[Spoken]]:
        """A queue of what is said in a lane from now on."""
        ear: asyncio.Queue[Spoken] = asyncio.Queue(CHAT_FRAMES_WAITING_MAX)
        ears = self._ears.setdefault((account_id, key), set())
        ears.add(ear)
        try:
            yield ear
        finally:
            ears.discard(ear)
            if not ears:
                self._ears.pop((account_id, key), None)
