"""Changing single values of a JSON5 text as its owner would: comments and everything else stay as they are.

A text that writes names without quotes gets new ones without, and one that is plain JSON stays plain JSON.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from carrel.main.json5 import Json5Fault, Node, Part, read

Path = tuple[str, ...]
EMPTY = "{}\n"
_INDENT = "  "
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def with_value(text: str, path: Path, value: Any) -> str:
    """Return the text with this value at a path; missing objects on the way are added."""
    node = read(text)
    for depth, name in enumerate(path):
        if not isinstance(node.parts, dict):
            raise Json5Fault(text, node.start, f"{'.'.join(path[:depth]) or 'the whole'} is not an object")
        if name not in node.parts:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _inserted(text, node, name, value)
        node = node.parts[name].node
    if node.value == value and type(node.value) is type(value):
        return text
    return text[: node.start] + _written(value, _indent_of(text, node.start), _quotes(text)) + text[node.end :]


def with_item(text: str, path: Path, item: Any) -> str:
    """Return the text with this item added to the array at a path."""
    node = _found(text, path)
    if node is None:
        return with_value(text, path, [item])
    if not isinstance(node.parts, list):
        raise Json5Fault(text, node.start, f"{'.'.join(path)} is not an array")
    return text if item in node.value else _inserted(text, node, None, item)


def without_item(text: str, path: Path, item: Any) -> str:
    """Return the text without this item of the array at a path; an array that becomes empty is removed."""
    node = _found(text, path)
    if node is None or not isinstance(node.parts, list) or item not in node.value:
        return text
    if node.value == [item]:
        return without_value(text, path)
    return _removed(text, node.parts, node.value.index(item))


def without_value(text: str, path: Path) -> str:
    """Return the text without the value at a path, and without objects that become empty."""
    parent, name = _found(text, path[:-1]), path[-1]
    if parent is None or not isinstance(parent.parts, dict) or name not in parent.parts:
        return text
    if len(parent.parts) == 1 and len(path) > 1:
        return without_value(text, path[:-1])
    return _removed(text, list(parent.parts.values()), list(parent.parts).index(name))


def _found(text: str, path: Path) -> Node | None:
    node = read(text)
    for name in path:
        if not isinstance(node.parts, dict) or name not in node.parts:
            return None
        node = node.parts[name].node
    return node


def _inserted(text: str, within: Node, name: str | None, value: Any) -> str:
    """Return the text with one more part at the end of an object or array, in the style of those that are there."""
    parts = list(within.parts.values() if isinstance(within.parts, dict) else within.parts or ())
    quoted = _quotes(text)
    inside = text[within.start + 1 : within.end - 1]
    if not parts and not inside.strip():
        whole = [value] if name is None else {name: value}
        whole_text = _written(whole, _indent_of(text, within.start), quoted)
        return text[: within.start] + whole_text + text[within.end :]
    label = "" if name is None else f"{_label(name, quoted)}: "
    if parts and "\n" not in text[within.start : parts[0].start]:
        piece, after = label + _inline(value, quoted), parts[-1].comma_end
        if after is not None:
            return f"{text[:after]} {piece},{text[after:]}"
        after = parts[-1].node.end
        return f"{text[:after]}, {piece}{text[after:]}"
    indent = _indent_of(text, parts[0].start) if parts else _indent_of(text, within.start) + _INDENT
    comma = "," if parts and parts[-1].comma_end is not None else ""
    line = f"\n{indent}{label}{_written(value, indent, quoted)}{comma}"
    # After the last comment, which may say something about the part before.
    end = len(text[: within.end - 1].rstrip())
    # The closing bracket needs a break if it stood on the line of the last part.
    line_end = "" if "\n" in text[end : within.end] else f"\n{indent[: -len(_INDENT)]}"
    changed = text[:end] + line + line_end + text[end:]
    if parts and not comma:
        changed = changed[: parts[-1].node.end] + "," + changed[parts[-1].node.end :]
    return changed


def _removed(text: str, parts: list[Part], index: int) -> str:
    """Return the text without one part, and without the lines that only it stood on."""
    part = parts[index]
    start, end = part.start, part.comma_end or part.node.end
    line_start, line_end = text.rfind("\n", 0, start), text.find("\n", end)
    if line_start >= 0 and not text[line_start:start].strip() and not text[end : max(line_end, end)].strip():
        start, end = line_start, line_end if line_end >= 0 else end
    elif text[start - 1 : start] == " ":
        start -= 1
    changed = text[:start] + text[end:]
    if index and part.comma_end is None:
        # The part before is the last one now; plain JSON has no comma there.
        before = parts[index - 1]
        assert before.comma_end is not None, "a part followed it"
        changed = changed[: before.comma_end - 1] + changed[before.comma_end :]
    return changed


def _quotes(text: str) -> bool:
    """Return whether names are quoted, judging by the first one; True without any."""
    root = read(text)
    first = next(iter(root.parts.values()), None) if isinstance(root.parts, dict) else None
    return first is None or text[first.start] in "\"'"


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _written(value: Any, indent: str, quoted: bool) -> str:
    return f"\n{indent}".join(_lines(value, quoted))


def _lines(value: Any, quoted: bool) -> Iterator[str]:
    """Yield the lines of a value; an array takes one line."""
    if not isinstance(value, dict) or not value:
        yield _inline(value, quoted)
        return
    yield "{"
    for number, (name, each) in enumerate(value.items(), 1):
        lines = list(_lines(each, quoted))
        lines[0] = f"{_label(name, quoted)}: {lines[0]}"
        lines[-1] += "," if number < len(value) or not quoted else ""
        yield from (_INDENT + line for line in lines)
    yield "}"


def _inline(value: Any, quoted: bool) -> str:
    if isinstance(value, dict) and value:
        members = (f"{_label(name, quoted)}: {_inline(each, quoted)}" for name, each in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(each, quoted) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _label(name: str, quoted: bool) -> str:
    return name if not quoted and _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
