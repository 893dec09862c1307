"""Columns in memory that grow together, and numbers for names that repeat."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Ints = NDArray[np.int64]
Positions = NDArray[Any]
Mask = NDArray[np.bool_]
_CAPACITY_MIN = 1_024


class Columns:
    """Growing arrays of one length; growing is cheap because they reserve space."""

    def __init__(self, **kinds: DTypeLike) -> None:
        self.size = 0
        self._arrays = {name: np.zeros(_CAPACITY_MIN, dtype=kind) for name, kind in kinds.items()}
        self._lent: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self.size]

    def lend(self, name: str) -> NDArray[Any]:
        """Return an array for a reader that keeps it while rows change: it stays as it is now."""
        self._lent.add(name)
        return self[name]

    def reclaim(self, *names: str) -> None:
        """Prepare for changes of rows: arrays that were lent stay with their readers, unchanged."""
        for name in self._lent.intersection(names):
            self._arrays[name] = self._arrays[name].copy()
        self._lent.difference_update(names)

    def extend(self, **values: Any) -> None:
        """Append rows; missing values are 0."""
        count = len(next(iter(values.values())))
        first, self.size = self.size, self.size + count
        for name, array in self._arrays.items():
            if self.size > len(array):
                # The old array stays as it is for its current readers.
                grown = np.zeros((max(self.size, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
                grown[:first] = array[:first]
                self._arrays[name] = array = grown
            if name in values:
                array[first : self.size] = values[name]


class Names:
    """Numbers names, and finds those with a given part: names consist of parts separated by spaces."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._with_part: dict[str, list[int]] = {}

    def number(self, name: str) -> int:
        if (known := self._numbers.get(name)) is None:
            known = self._numbers[name] = len(self._numbers)
            for part in set(name.split()):
                self._with_part.setdefault(part, []).append(known)
        return known

    def numbers(self, names: Iterable[str]) -> list[int]:
        known = self._numbers
        return [known[name] if name in known else self.number(name) for name in names]

    def having(self, *parts: str) -> NDArray[np.bool_]:
        """Return for every number whether its name has one of the parts."""
        found = np.zeros(len(self._numbers), dtype=bool)
        for part in parts:
            found[self._with_part.get(part, [])] = True
        return found
