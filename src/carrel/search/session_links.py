"""The order of documents within their sessions: their neighbours, and the segments of conversation they form."""

import numpy as np

from carrel.kernel.limits import SEARCH_SEGMENT_ENTRIES
from carrel.search.columns import Columns


class SessionLinks:
    """Links each document to the one before and the one after it in its session."""

    def __init__(self, rows: Columns) -> None:
        self._rows = rows
        # The last document of each session.
        self._last: dict[int, int] = {}
        self.segments = 0

    def append(self, at: int) -> bool:
        """Append a new document to its session; False if it belongs before others."""
        rows = self._rows
        session = int(rows["session"][at])
        last = self._last.get(session) if session >= 0 else None
        rows["previous"][at] = rows["following"][at] = -1
        if last is not None:
            if rows["sequence"][last] > rows["sequence"][at]:
                return False
            rows["previous"][at], rows["following"][last] = last, at
            rows["position"][at] = rows["position"][last] + 1
        if session >= 0:
            self._last[session] = at
        if last is not None and rows["position"][at] % SEARCH_SEGMENT_ENTRIES:
            rows["segment"][at] = rows["segment"][last]
        else:
            rows["segment"][at] = self.segments
            self.segments += 1
        return True

    def rebuild(self) -> None:
        """Put every session in order; segments then begin elsewhere."""
        self._rows.reclaim("previous", "following", "segment", "position")
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
        segment = np.cumsum(begins | (position % SEARCH_SEGMENT_ENTRIES == 0)) - 1
        for name, values in (("previous", before), ("following", after), ("position", position), ("segment", segment)):
            rows[name][order] = values
        self.segments = int(segment[-1]) + 1 if count else 0
        last = after < 0
        self._last = dict(zip(ordered[last].tolist(), order[last].tolist(), strict=True))
        self._last.pop(-1, None)
