"""The arguments of a tool call as a list that people can read. Pure, and linear in the length of the arguments.

Every argument is named. Long values are cut with a mark that says how long they are, and what looks like a secret is
not shown.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from carrel.kernel import clip, redact

# How much of a value is shown, widest first; a call with many arguments shows less of each.
_VALUE_CHARS = (600, 160, 40)
_VALUE_LINES_MAX = 12
_NAME_CHARS = 80
_ITEMS_MAX = 30
_DEPTH_MAX = 4
_INDENT = "  "


def list_arguments(arguments: str, chars_max: int) -> str:
    """Return the arguments of a call, one on each line, in at most `chars_max` characters; empty if there are none."""
    try:
        given: Any = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        # Not JSON: the call will be refused, so show what the model wrote.
        given = [arguments]
    given = given if isinstance(given, dict | list) else [given]
    listed = ""
    for value_chars in _VALUE_CHARS:
        listed = "\n".join(_lines(given, value_chars))
        if len(listed) <= chars_max:
            break
    return clip(listed, chars_max)


def _lines(given: dict[str, Any] | list[Any], value_chars: int, depth: int = 0) -> Iterator[str]:
    named = given.items() if isinstance(given, dict) else enumerate(given, 1)
    indent = _INDENT * depth
    for name, value in islice(named, _ITEMS_MAX):
        start = f"{indent}- {clip(' '.join(str(name).split()), _NAME_CHARS)}:"
        if isinstance(value, dict | list) and value and depth < _DEPTH_MAX:
            yield start
            yield from _lines(value, value_chars, depth + 1)
        else:
            # Items of a list need no number unless they are lists themselves.
            start = f"{start} " if isinstance(given, dict) else f"{indent}- "
            # Indent further lines more than arguments, so that none of them looks like one.
            yield start + _value(value, value_chars).replace("\n", f"\n{indent}{_INDENT * 2}")
    if len(given) > _ITEMS_MAX:
        yield f"{indent}- … {len(given) - _ITEMS_MAX} more"


def _value(value: Any, chars_max: int) -> str:
    if value is None or value in ("", [], {}):
        return "(empty)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = redact(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    lines = text.strip().splitlines()
    whole, shown = "\n".join(lines), "\n".join(lines[:_VALUE_LINES_MAX])[:chars_max]
    return whole if shown == whole else f"{shown}… (cut here; {len(text):,} characters in all)"
