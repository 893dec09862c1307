"""Text as it streams: what a turn is saying this moment, for whoever listens in this process.

Nothing here is kept. Who comes late, or listens in another process, reads the stored reply instead.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from weakref import WeakValueDictionary

from msgspec import Struct

from carrel.kernel import TextBuffer
from carrel.kernel.limits import CHAT_FRAMES_WAITING_MAX
from carrel.storage import Bell


class Spoken(Struct, frozen=True):
    """A piece of text of a run; `restart` says that what came before it is void, because the step is taken again."""

    kind: Literal["text", "restart"]
    run_id: str
    key: str
    text: str = ""


class Words:
    """What one run says, gathered: the text of its present step so far, and which of its steps that is.

    A step that is taken again begins its text anew. `bell` rings at every piece.
    """

    def __init__(self) -> None:
        self.bell = Bell()
        self.step = 0
        self._said = TextBuffer()

    @property
    def text(self) -> str:
        """The text of the present step so far."""
        return self._said.text

    def hear(self, spoken: Spoken) -> None:
        """Add a piece, or drop what was void."""
        if spoken.kind == "text":
            # No store keeps a NUL, so nobody is told one.
            self._said.add(spoken.text.replace("\x00", ""))
        else:
            self._said = TextBuffer()
        self.bell.ring()

    def turn_page(self) -> None:
        """What comes next belongs to the next step."""
        self.step += 1
        self._said = TextBuffer()


class Live:
    """Listeners by (account, session key), and what is gathered by (account, run)."""

    def __init__(self) -> None:
        self._ears: dict[tuple[str, str], set[asyncio.Queue[Spoken]]] = {}
        self._words: WeakValueDictionary[tuple[str, str], Words] = WeakValueDictionary()

    def say(self, account_id: str, spoken: Spoken) -> None:
        """Tell everyone who listens to that lane now; who does not keep up misses pieces, never the reply."""
        words = self._words.get((account_id, spoken.run_id))
        if words is not None:
            words.hear(spoken)
        for ear in self._ears.get((account_id, spoken.key), ()):
            if not ear.full():
                ear.put_nowait(spoken)

    def end_step(self, account_id: str, run_id: str) -> None:
        """Tell whoever gathers a run's words that its step has ended and another follows."""
        words = self._words.get((account_id, run_id))
        if words is not None:
            words.turn_page()

    def gather(self, account_id: str, run_id: str) -> Words:
        """What a run says from now on, gathered for as long as somebody holds it."""
        words = self._words.get((account_id, run_id)) or Words()
        self._words[account_id, run_id] = words
        return words

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
