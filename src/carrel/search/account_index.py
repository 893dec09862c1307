"""The figures of one account's documents in memory: what ranking needs for all of them at once.

It is loaded when the account is first searched and follows the index by its versions, in the transaction that searches.
"""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress
from threading import Lock
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from carrel.kernel import Access
from carrel.kernel.limits import (
    SEARCH_DOCUMENTS_IN_MEMORY_MAX,
    SEARCH_REMOVALS_MAX,
    SEARCH_SCOPES_KEPT,
    SEARCH_STRETCH_ENTRIES,
)
from carrel.search import store
from carrel.search.columns import Columns, Names
from carrel.search.model import KINDS, Scope, topic_of
from carrel.search.store import Figures
from carrel.search.vectors import code_width
from carrel.storage import Row, Tx

Ints = NDArray[np.int64]
Positions = NDArray[Any]
Mask = NDArray[np.bool_]
_KIND_NUMBERS: dict[str, int] = {kind: at for at, kind in enumerate(KINDS)}
# The same names, with the values of many documents in each.
_Columns: Any = Figures
# Up to this many new documents are linked one by one; beyond that, relinking all at once is faster.
_LINKED_SINGLY_MAX = 2_000


# Documents that have vectors, in order, each with the row of one of its vectors.
Coded = tuple[Positions, Positions]


class Members(Struct, frozen=True, kw_only=True):
    """Which documents are in a scope at one moment."""

    in_scope: Mask
    count: int
    # How much of each stretch of conversation is in scope.
    said: NDArray[np.float64]
    # Documents in scope that have vectors, by kind.
    coded: dict[int, Coded]


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
    # The documents before and after it in its session, -1 for none; and its stretch of conversation.
    previous: Positions
    following: Positions
    stretches: Positions
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
            number=np.int64, session=np.int32, sequence=np.int64, position=np.int32, stretch=np.int32, topic=np.int32,
            previous=np.int32, following=np.int32, length=np.int32, kind=np.int8, reach=np.int32, places=np.int32,
            speaker=np.int32, question=np.bool_, alive=np.bool_, coded_at=np.int32, coded=np.int32,
        )  # fmt: skip
        self._codes = Columns(code=np.dtype((np.uint64, self._width)))
        self._reach, self._places, self._speakers, self._sessions = Names(), Names(), Names(), Names()
        self._topics = Names()
        self._sessions.number("")
        self._last_in_session: dict[int, int] = {}
        self._stretches = 0
        # Of the most recently searched scopes.
        self._members = OrderedDict[Scope, Members]()

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
        self._link_all()
        self.is_complete = True
        # What an earlier search loaded may have changed since.
        if began_before:
            self.refresh(tx, access)

    def _follow(self, tx: Tx, access: Access) -> bool:
        """Apply changes; False if everything has to be loaded anew."""
        removed = store.removals_after(tx, access, self._version)
        if len(removed) == SEARCH_REMOVALS_MAX:
            return False
        changed = store.figures_after(tx, access, self._version)
        version = changed[-1].version if changed else self._version
        if not self._apply(changed, [number for _, number in removed]):
            return False
        version = max([version, *(at for at, _ in removed)])
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
        known = {one.number: self._position(one.number) for one in changed if one.number <= last}
        if None in known.values():
            return False
        gone = [at for at in map(self._position, removed) if at is not None]
        first = self._rows.size
        touched = np.unique(np.array([*known.values(), *gone, *range(first, first + len(fresh))], dtype=np.int32))
        lengths = self._rows["length"][touched[touched < first]].copy()
        if known:
            self._rows.reclaim("speaker", "topic")
        if fresh:
            self._rows.reclaim("following")
        for one in changed:
            if (at := known.get(one.number)) is not None:
                self._change(at, one)
        self._rows["alive"][gone] = False
        self._append(fresh)
        if len(fresh) > _LINKED_SINGLY_MAX or not all(self._link(at) for at in range(first, self._rows.size)):
            self._link_all()
        else:
            for scope, members in self._members.items():
                self._members[scope] = self._renewed(scope, members, touched, lengths)
        return True

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
            length=columns.length,
            kind=[_KIND_NUMBERS[kind] for kind in columns.kind],
            reach=self._reach.numbers(columns.reach),
            places=self._places.numbers(columns.places),
            topic=self._topics.numbers(map(topic_of, columns.places)),
            speaker=self._speakers.numbers(columns.speaker),
            question=columns.is_question,
            alive=[True] * len(page),
        )
        self._code(columns, np.arange(first, self._rows.size, dtype=np.int32))

    def _change(self, at: int, one: Figures) -> None:
        """Apply a changed document; its number and its position in its session stay."""
        rows = self._rows
        rows["length"][at], rows["question"][at], rows["alive"][at] = one.length, one.is_question, True
        rows["reach"][at], rows["places"][at] = self._reach.number(one.reach), self._places.number(one.places)
        rows["speaker"][at] = self._speakers.number(one.speaker)
        rows["topic"][at] = self._topics.number(topic_of(one.places))
        rows["coded"][at] = 0
        self._code(_Columns(*((value,) for value in one)), np.array([at], dtype=np.int32))

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

    def _link(self, at: int) -> bool:
        """Append a new document to its session; False if it belongs before others."""
        rows = self._rows
        session = int(rows["session"][at])
        last = self._last_in_session.get(session) if session >= 0 else None
        rows["previous"][at] = rows["following"][at] = -1
        if last is not None:
            if rows["sequence"][last] > rows["sequence"][at]:
                return False
            rows["previous"][at], rows["following"][last] = last, at
            rows["position"][at] = rows["position"][last] + 1
        if session >= 0:
            self._last_in_session[session] = at
        if last is not None and rows["position"][at] % SEARCH_STRETCH_ENTRIES:
            rows["stretch"][at] = rows["stretch"][last]
        else:
            rows["stretch"][at] = self._stretches
            self._stretches += 1
        return True

    def _link_all(self) -> None:
        """Put every session in order; cached scopes go by stretches, which then begin elsewhere."""
        self._members.clear()
        self._rows.reclaim("previous", "following", "stretch", "position")
        rows, count = self._rows, self._rows.size
        session = rows["session"]
        order = np.lexsort((rows["number"], rows["sequence"], session))
        ordered = session[order]
        begins = np.ones(count, dtype=bool)
        begins[1:] = (ordered[1:] != ordered[:-1]) | (ordered[1:] < 0)
        at = np.arange(count)
        position = at - np.maximum.accumulate(np.where(begins, at, 0))
        before = np.full(count, -1, dtype=np.int32)
        before[1:] = np.where(begins[1:], -1, order[:-1])
        after = np.full(count, -1, dtype=np.int32)
        after[:-1] = np.where(begins[1:], -1, order[1:])
        stretch = np.cumsum(begins | (position % SEARCH_STRETCH_ENTRIES == 0)) - 1
        for name, values in (("previous", before), ("following", after), ("position", position), ("stretch", stretch)):
            rows[name][order] = values
        self._stretches = int(stretch[-1]) + 1 if count else 0
        last = after < 0
        self._last_in_session = dict(zip(ordered[last].tolist(), order[last].tolist(), strict=True))
        self._last_in_session.pop(-1, None)

    def view(self, scope: Scope, words: tuple[str, ...]) -> View:
        """Return the documents now, with those in scope and those whose speaker is named; hold the lock."""
        members = self._members_of(scope)
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
            stretches=rows.lend("stretch"),
            topics=rows.lend("topic"),
            positions=rows.lend("position"),
            codes=self._codes["code"],
        )

    def _members_of(self, scope: Scope) -> Members:
        """Which documents are in a scope; cached, since finding that out takes longer than ranking them."""
        members = self._members.pop(scope, None)
        if members is None:
            everything = np.arange(self._rows.size, dtype=np.int32)
            nothing = Members(
                in_scope=np.zeros(0, dtype=bool), count=0, said=np.zeros(0), coded=self._coded(everything[:0])
            )
            members = self._renewed(scope, nothing, everything, np.zeros(0, dtype=np.int32))
        self._members[scope] = members
        while len(self._members) > SEARCH_SCOPES_KEPT:
            self._members.popitem(last=False)
        return members

    def _renewed(self, scope: Scope, members: Members, touched: Positions, lengths: Ints) -> Members:
        """Return which documents are in a scope after some were changed, whose texts had these lengths before.

        Returns a new object: somebody may be reading the old one.
        """
        before = touched[: len(lengths)]
        left, entered = before[members.in_scope[before]], touched[self._is_in(scope, touched)]
        in_scope = np.zeros(self._rows.size, dtype=bool)
        in_scope[: len(members.in_scope)] = members.in_scope
        in_scope[touched] = False
        in_scope[entered] = True
        rows = self._rows
        weights = np.concatenate([-lengths[members.in_scope[before]], rows["length"][entered]])
        stretches = rows["stretch"][np.concatenate([left, entered])]
        said = np.zeros(self._stretches)
        said[: len(members.said)] = members.said
        said += np.bincount(stretches, weights=weights, minlength=self._stretches)
        new = self._coded(entered)
        return Members(
            in_scope=in_scope,
            count=members.count - len(left) + len(entered),
            said=said,
            coded={kind: _edited(coded, left, new[kind]) for kind, coded in members.coded.items()},
        )

    def _is_in(self, scope: Scope, at: Positions) -> Mask:
        """Which of the documents are in a scope."""
        rows = self._rows
        reach, places = rows["reach"][at], rows["places"][at]
        found: Mask = rows["alive"][at] & self._reach.having(*scope.marks)[reach]
        for place in scope.places:
            found &= self._places.having(place)[places]
        return found

    def _coded(self, members: Positions) -> dict[int, Coded]:
        counts = self._rows["coded"][members]
        owners, counts = members[counts > 0], counts[counts > 0]
        at = self._rows["coded_at"][owners]
        if len(counts) and counts.max() > 1:
            within = np.arange(counts.sum(), dtype=np.int32) - np.repeat(np.cumsum(counts) - counts, counts)
            owners, at = np.repeat(owners, counts), (np.repeat(at, counts) + within).astype(np.int32)
        kinds = self._rows["kind"][owners]
        return {kind: (owners[kinds == kind], at[kinds == kind]) for kind in _KIND_NUMBERS.values()}


def _edited(coded: Coded, left: Positions, entered: Coded) -> Coded:
    """Return documents that have vectors without some and with others, in order."""
    changed = np.concatenate([left, entered[0]])
    if not len(changed):
        return coded
    # Changed documents are mostly new, so nearly all of a long list stays as it is.
    first = int(np.searchsorted(coded[0], changed.min()))
    (owners, rows), kept = (each[first:] for each in coded), ~np.isin(coded[0][first:], left)
    owners, rows = np.concatenate([owners[kept], entered[0]]), np.concatenate([rows[kept], entered[1]])
    order = np.argsort(owners, kind="stable")
    return np.concatenate([coded[0][:first], owners[order]]), np.concatenate([coded[1][:first], rows[order]])


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
            while len(self._indexes) > 1 and sum(map(len, self._indexes.values())) > SEARCH_DOCUMENTS_IN_MEMORY_MAX:
                self._indexes.popitem(last=False)
        return index
