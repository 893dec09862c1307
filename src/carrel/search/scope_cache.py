"""Which documents are in a scope, cached: finding that out takes longer than ranking them."""

from collections import OrderedDict

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.kernel.limits import SEARCH_SCOPES_KEPT
from carrel.search.columns import Columns, Ints, Mask, Names, Positions
from carrel.search.model import KINDS, Scope
from carrel.search.session_links import SessionLinks

# Documents that have vectors, in order, each with the row of one of its vectors.
Coded = tuple[Positions, Positions]


class Members(Struct, frozen=True, kw_only=True):
    """Which documents are in a scope at one moment."""

    in_scope: Mask
    count: int
    # How much of each segment of conversation is in scope.
    said: NDArray[np.float64]
    # Documents in scope that have vectors, by kind.
    coded: dict[int, Coded]


class ScopeCache:
    """The documents of the most recently searched scopes."""

    def __init__(self, rows: Columns, links: SessionLinks, reach: Names, places: Names) -> None:
        self._rows, self._links, self._reach, self._places = rows, links, reach, places
        self._members = OrderedDict[Scope, Members]()

    def clear(self) -> None:
        self._members.clear()

    def renew(self, touched: Positions, lengths: Ints) -> None:
        """Apply changes of documents, whose texts had these lengths before."""
        for scope, members in self._members.items():
            self._members[scope] = self._renewed(scope, members, touched, lengths)

    def of(self, scope: Scope) -> Members:
        """Return which documents are in a scope."""
        if (members := self._members.pop(scope, None)) is None:
            everything = np.arange(self._rows.size, dtype=np.int32)
            coded = self._coded(everything[:0])
            nothing = Members(in_scope=np.zeros(0, dtype=bool), count=0, said=np.zeros(0), coded=coded)
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
        segments = rows["segment"][np.concatenate([left, entered])]
        said = np.zeros(self._links.segments)
        said[: len(members.said)] = members.said
        said += np.bincount(segments, weights=weights, minlength=self._links.segments)
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
        return {kind: (owners[kinds == kind], at[kinds == kind]) for kind in range(len(KINDS))}


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
