"""Templates: texts with paths into posted JSON, such as `{issue.title}` or `{comment.body|issue.body}`. Pure.

Of several paths, the first that has a value counts. A path goes through objects by name and through lists by number.
Every delivery has these: `{@event}`, `{@author}`, `{@webhook}` and `{@payload}`.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PATH = re.compile(r"@(?:event|author|webhook|payload)|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Template:
    """A parsed template; `template_problem` says what is wrong with an invalid one."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str | tuple[str, ...]] = []
        at = 0
        for found in _FIELD.finditer(text):
            self._pieces.append(text[at : found.start()])
            self._pieces.append(_piece(found))
            at = found.end()
        self._pieces.append(text[at:])

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text with every path replaced by its value, or by nothing if it has none."""
        filled = (piece if isinstance(piece, str) else _first(values, piece) for piece in self._pieces)
        return "".join(filled).strip()

    def fill_whole(self, values: Mapping[str, Any]) -> str:
        """Return the text if every path has a value; else an empty one."""
        is_whole = all(isinstance(piece, str) or _first(values, piece) for piece in self._pieces)
        return self.fill(values) if is_whole else ""


def template_problem(text: str) -> str | None:
    """Return what is wrong with a template; None for a good one."""
    for found in _FIELD.finditer(text):
        whole, paths = found[0], found[1]
        if whole in ("{", "}"):
            return f"has a {whole} that belongs to no path; write it twice to mean the character"
        if paths is not None and not all(_PATH.fullmatch(path.strip()) for path in paths.split("|")):
            return f"has {whole}, which is no path; a path reads {{issue.title}} or {{comment.body|issue.body}}"
    return None


def _piece(found: re.Match[str]) -> str | tuple[str, ...]:
    if found[1] is None:
        return found[0][0]
    return tuple(path.strip() for path in found[1].split("|"))


def _first(values: Mapping[str, Any], paths: tuple[str, ...]) -> str:
    return next((text for path in paths if (text := text_at(values, path))), "")


def text_at(values: Mapping[str, Any], path: str) -> str:
    """Return the value at a path as text; empty if there is none."""
    value: Any = values
    for name in (path,) if path.startswith("@") else path.split("."):
        if isinstance(value, list) and name.isdecimal():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return _NOT_TEXT.sub("", text).strip()
