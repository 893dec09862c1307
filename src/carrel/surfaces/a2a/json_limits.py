"""How far free-form JSON may reach: so many levels, for protobuf holds a hundred and makes three of one; so many
values, for the protocol's library takes its time over each, and everybody else waits meanwhile.
"""

import sys

from carrel.kernel.limits import A2A_LEVELS_MAX, A2A_VALUES_MAX
from carrel.surfaces.a2a.errors import wrong

# So much of a path is told of what reaches too far.
_TOLD_MAX, _NAME_CHARS_MAX = 3, 40


def check_extent(value: object) -> None:
    """Refuse JSON that reaches further than it may, naming where it does."""
    place = place_beyond(value, A2A_LEVELS_MAX, A2A_VALUES_MAX)
    if place is not None:
        named = ".".join(name[:_NAME_CHARS_MAX] for name in place[:_TOLD_MAX]) or "params"
        bound = f"{A2A_LEVELS_MAX} levels and {A2A_VALUES_MAX} values"
        raise wrong(named, f"{named} is too deep or too much; a request has at most {bound}.")


def place_beyond(value: object, levels: int, values: int = sys.maxsize) -> tuple[str, ...] | None:
    """The way to the first place beyond so many levels, or beyond so many values in all; None when there is none."""
    return _Walk(values).beyond(value, levels)


class _Walk:
    def __init__(self, values: int) -> None:
        self._left = values

    def beyond(self, value: object, levels: int) -> tuple[str, ...] | None:
        self._left -= 1
        if self._left < 0:
            return ()
        if not isinstance(value, dict | list):
            return None
        if not levels:
            return ()
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            place = self.beyond(inner, levels - 1)
            if place is not None:
                return (str(name), *place)
        return None
