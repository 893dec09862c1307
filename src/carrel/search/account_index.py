"""The figures of one account's documents in memory: what ranking needs for all of them at once.

It is loaded when the account is first searched and follows the index by its versions, in the transaction that searches.
"""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress
from threading import Lock
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from carrel.kernel import Access, limits
from carrel.search import store
from carrel.search.columns import Columns, Ints, Mask, Names, Positions
from carrel.search.model import KINDS, Scope, topic_of
from carrel.search.scope_cache import Members, ScopeCache
from carrel.search.session_links import SessionLinks
from carrel.search.store import Figures
from carrel.search.vectors import code_width
from carrel.storage import Row, Tx

_KIND_NUMBERS: dict[str, int] = {kind: at for at, kind in enumerate(KINDS)}
# The same names, with the values of many documents in each.
_Columns: Any = Figures
# Up to this many new documents are linked one by one; beyond that, relinking all at once is faster.
_LINKED_SINGLY_MAX = 2_000


class View(Members, frozen=True, kw_only=True):
    """The documents at one moment, by position: each array has one row per document."""

    numbers: Ints
    # The average length of the texts in scope.
    length: float
    kinds: NDArray[np.int8]
    lengths: NDArray[np.int32]
    questions: Mask
    # Who said it, and for every speaker whether the query names them.
    speakers: Positions
    named: Mask
    # The documents before and after it in its session, -1 for none; and its segment of conversation.
    previous: Positions
    following: Positions
    segments: Positions
    # What it is about, by number.
    topics: Positions
    # Its number within its session.
    positions: Positions
    # The signs of vectors.
    codes: NDArray[np.uint64]


class AccountIndex:
    """The documents of one account."""

    def __init__(self, model: str) -> None:
        self.lock = Lock()
        self._model = model
        self._width = code_width(model)
        self._clear()

    def _clear(self) -> None:
        # Whether everything was loaded once; from then on only changes are.
        self.is_complete = False
        self._version = 0
        self._rows = Columns(
            number=np.int64, session=np.int32, sequence=np.int64, position=np.int32, segment=np.int32, topic=np.int32,
            previous=np.int32, following=np.int32, length=np.int32, kind=np.int8, reach=np.int32, places=np.int32,
            speaker=np.int32, question=np.bool_, alive=np.bool_, coded_at=np.int32, coded=np.int32,
        )  # fmt: skip
        self._codes = Columns(code=np.dtype((np.uint64, self._width)))
        self._reach, self._places, self._speakers, self._sessions = Names(), Names(), Names(), Names()
        self._topics = Names()
        self._sessions.number("")
        self._links = SessionLinks(self._rows)
        self._scopes = ScopeCache(self._rows, self._links, self._reach, self._places)

    def __len__(self) -> int:
        return self._rows.size

    def refresh(self, tx: Tx, access: Access) -> None:
        """Load what has changed; hold the lock. If a deadline interrupts it, it continues from there the next time."""
        if self.is_complete and self._follow(tx, access):
            return
        if self.is_complete:
            self._clear()
        self._load(tx, access)

    def _load(self, tx: Tx, access: Access) -> None:
        if not self._version:
            self._version = min(store.newest_version(tx, access), tx.horizon())
        began_before = self._rows.size > 0
        while page := store.figures_numbered_after(tx, access, self._last_number):
            self._append(page)
        self._relink()
        self.is_complete = True
        # What an earlier search loaded may have changed since.
        if began_before:
            self.refresh(tx, access)

    def _follow(self, tx: Tx, access: Access) -> bool:
        """Apply changes; False if everything has to be loaded anew."""
        removed = store.removals_after(tx, access, self._version)
        if len(removed) == limits.SEARCH_REMOVALS_MAX:
            return False
        changed = store.figures_after(tx, access, self._version)
        if not self._apply(changed, [number for _, number in removed]):
            return False
        version = max([self._version, *(one.version for one in changed[-1:]), *(at for at, _ in removed)])
        # Changes that are not visible yet may precede what is above the horizon, so that is read again.
        self._version = min(version, max(self._version, tx.horizon()))
        return True

    @property
    def _last_number(self) -> int:
        return int(self._rows["number"][-1]) if self._rows.size else 0

    def _apply(self, changed: list[Figures], removed: list[int]) -> bool:
        """Apply changes; False if a document belongs between others, which requires loading anew."""
        if not changed and not removed:
            return True
        last = self._last_number
        fresh = sorted((one for one in changed if one.number > last), key=lambda one: one.number)
        known = [one for one in changed if one.number <= last]
        positions = [self._position(one.number) for one in known]
        if None in positions:
            return False
        gone = [at for at in map(self._position, removed) if at is not None]
        first = self._rows.size
        touched = np.unique(np.array([*positions, *gone, *range(first, first + len(fresh))], dtype=np.int32))
        lengths = self._rows["length"][touched[touched < first]].copy()
        if known:
            self._change(np.array(positions, dtype=np.int32), list(map(structs.astuple, known)))
        if fresh:
            self._rows.reclaim("following")
        self._rows["alive"][gone] = False
        self._append(list(map(structs.astuple, fresh)))
        if len(fresh) > _LINKED_SINGLY_MAX or not all(map(self._links.append, range(first, self._rows.size))):
            self._relink()
        else:
            self._scopes.renew(touched, lengths)
        return True

    def _relink(self) -> None:
        # Cached scopes go by segments, which then begin elsewhere.
        self._scopes.clear()
        self._links.rebuild()

    def _position(self, number: int) -> int | None:
        numbers = self._rows["number"]
        at = int(np.searchsorted(numbers, number))
        return at if at < len(numbers) and numbers[at] == number else None

    def _append(self, page: Sequence[Row]) -> None:
        if not page:
            return
        first = self._rows.size
        columns = _Columns(*zip(*page, strict=True))
        self._rows.extend(
            number=columns.number,
            # The empty session name has the number 0, which stands for none.
            session=np.array(self._sessions.numbers(key or "" for key in columns.session_key)) - 1,
            sequence=columns.sequence,
            kind=[_KIND_NUMBERS[kind] for kind in columns.kind],
            **self._changeable(columns),
        )
        self._code(columns, np.arange(first, self._rows.size, dtype=np.int32))

    def _change(self, positions: Positions, documents: list[Row]) -> None:
        """Apply changed documents; their numbers and their positions in their sessions stay."""
        columns = _Columns(*zip(*documents, strict=True))
        self._rows.reclaim("speaker", "topic")
        for name, values in self._changeable(columns).items():
            self._rows[name][positions] = values
        self._rows["coded"][positions] = 0
        self._code(columns, positions)

    def _changeable(self, columns: Any) -> dict[str, Any]:
        """The values of documents that a change replaces."""
        return {
            "length": columns.length,
            "question": columns.is_question,
            "alive": [True] * len(columns.number),
            "reach": self._reach.numbers(columns.reach),
            "places": self._places.numbers(columns.places),
            "topic": self._topics.numbers(map(topic_of, columns.places)),
            "speaker": self._speakers.numbers(columns.speaker),
        }

    def _code(self, columns: Any, positions: Positions) -> None:
        """Store the codes of documents whose vectors come from the model that queries use."""
        ours = [bool(codes) and model == self._model for codes, model in zip(columns.codes, columns.model, strict=True)]
        if not any(ours):
            return
        codes = list(compress(columns.codes, ours))
        counts = np.array([len(one) for one in codes]) // (8 * self._width)
        positions = positions[np.array(ours)]
        self._rows["coded_at"][positions] = self._codes.size + np.cumsum(counts) - counts
        self._rows["coded"][positions] = counts
        self._codes.extend(code=np.frombuffer(b"".join(codes), dtype=np.uint64).reshape(-1, self._width))

    def view(self, scope: Scope, words: tuple[str, ...]) -> View:
        """Return the documents now, with those in scope and those whose speaker is named; hold the lock."""
        members = self._scopes.of(scope)
        rows = self._rows
        return View(
            **structs.asdict(members),
            numbers=rows["number"],
            length=float(members.said.sum()) / max(1, members.count),
            kinds=rows["kind"],
            lengths=rows["length"],
            questions=rows["question"],
            speakers=rows.lend("speaker"),
            named=self._speakers.having(*words),
            previous=rows.lend("previous"),
            following=rows.lend("following"),
            segments=rows.lend("segment"),
            topics=rows.lend("topic"),
            positions=rows.lend("position"),
            codes=self._codes["code"],
        )


class AccountIndexes:
    """The indexes of the most recently searched accounts, within a common limit."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._indexes: OrderedDict[tuple[str, str], AccountIndex] = OrderedDict()

    def of(self, access: Access, model: str) -> AccountIndex:
        """Return the index of an account, for the vectors of one model."""
        with self._lock:
            key = (access.account_id, model)
            index = self._indexes.pop(key, None)
            # An empty index is false.
            index = AccountIndex(model) if index is None else index
            self._indexes[key] = index
            most = limits.SEARCH_DOCUMENTS_IN_MEMORY_MAX
            while len(self._indexes) > 1 and sum(map(len, self._indexes.values())) > most:
                self._indexes.popitem(last=False)
        return index
