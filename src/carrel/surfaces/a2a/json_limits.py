"""Limits on free-form JSON: its depth, because protobuf stops at 100 levels and turns one of ours into three; and the
number of values, because the SDK is slow at each and all other requests wait meanwhile.
"""

import sys

from carrel.kernel.limits import A2A_LEVELS_MAX, A2A_VALUES_MAX
from carrel.surfaces.a2a.errors import invalid_params

# How much of the path an error names.
_PATH_NAMES_MAX, _NAME_CHARS_MAX = 3, 40


def check_json_limits(value: object) -> None:
    """Refuse JSON that is too deep or has too many values, naming where."""
    path = path_beyond(value, A2A_LEVELS_MAX, A2A_VALUES_MAX)
    if path is not None:
        field = ".".join(name[:_NAME_CHARS_MAX] for name in path[:_PATH_NAMES_MAX]) or "params"
        limits = f"{A2A_LEVELS_MAX} levels and {A2A_VALUES_MAX} values"
        raise invalid_params(field, f"{field} is too deep or too large; a request has at most {limits}.")


def path_beyond(value: object, levels: int, values: int = sys.maxsize) -> tuple[str, ...] | None:
    """Return the path of the first value below that many levels or after that many values; None if there is none."""
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
            path = self.beyond(inner, levels - 1)
            if path is not None:
                return (str(name), *path)
        return None
