"""Live text: what a turn is streaming right now, for listeners in this process.

Nothing is kept. A late listener, or one in another process, reads the stored reply instead.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from weakref import WeakValueDictionary

from msgspec import Struct

from carrel.kernel.limits import CHAT_FRAMES_WAITING_MAX
from carrel.storage import Bell


class LivePiece(Struct, frozen=True):
    """A piece of a run's text; `restart` discards what came before it, because the step is sent again."""

    kind: Literal["text", "restart"]
    run_id: str
    key: str
    text: str = ""


class DraftText:
    """The text of one run's current step so far in pieces, and the number of that step.

    A step that is taken again starts its text over, as another draft. `bell` rings at every piece.
    """

    def __init__(self) -> None:
        self.bell = Bell()
        self.step = 0
        self.draft = 0
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text of the current step so far."""
        return "".join(self._pieces)

    def pieces_after(self, count: int) -> list[str]:
        """Return the pieces of the current draft without the first `count`, so that nobody copies the text so far."""
        return self._pieces[count:]

    def add(self, piece: LivePiece) -> None:
        """Add a piece, or discard the text so far."""
        if piece.kind == "text":
            # The stored reply has no NUL either.
            self._pieces.append(piece.text.replace("\x00", ""))
        else:
            self._begin_anew()
        self.bell.ring()

    def next_step(self) -> None:
        self.step += 1
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.draft += 1
        self._pieces = []


class Live:
    """Listeners by (account, session key), and texts so far by (account, run)."""

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str], set[asyncio.Queue[LivePiece]]] = {}
        self._drafts: WeakValueDictionary[tuple[str, str], DraftText] = WeakValueDictionary()

    def say(self, account_id: str, piece: LivePiece) -> None:
        """Pass a piece on to the listeners of its lane; a slow listener misses pieces, never the reply."""
        draft = self._drafts.get((account_id, piece.run_id))
        if draft is not None:
            draft.add(piece)
        for listener in self._listeners.get((account_id, piece.key), ()):
            if not listener.full():
                listener.put_nowait(piece)

    def end_step(self, account_id: str, run_id: str) -> None:
        """Say that a step of a run has ended and another follows."""
        draft = self._drafts.get((account_id, run_id))
        if draft is not None:
            draft.next_step()

    def gather(self, account_id: str, run_id: str) -> DraftText:
        """Return the text of a run from now on, collected for as long as it is referenced."""
        draft = self._drafts.get((account_id, run_id)) or DraftText()
        self._drafts[account_id, run_id] = draft
        return draft

    @contextmanager
    def listening(self, account_id: str, key: str) -> Iterator[asyncio.Queue[LivePiece]]:
        """Yield a queue of the pieces of text in a lane from now on."""
        listener: asyncio.Queue[LivePiece] = asyncio.Queue(CHAT_FRAMES_WAITING_MAX)
        listeners = self._listeners.setdefault((account_id, key), set())
        listeners.add(listener)
        try:
            yield listener
        finally:
            listeners.discard(listener)
            if not listeners:
                self._listeners.pop((account_id, key), None)
