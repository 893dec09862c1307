"""JSON5, as people write it into settings files: read, and changed as its owner would, with every other byte kept.

What JSON5 adds to JSON: comments, trailing commas, names without quotes, single quotes, and more ways to write numbers.
Names with `\\u` escapes are not supported, since nobody writes them. A text that writes names without quotes gets new
ones without, and one that is plain JSON stays plain JSON.

The package json-five keeps comments as well. But what is added to its model is written without spaces and line breaks,
it reads an escaped pair of surrogates as two signs, and its errors are those of its grammar, over several lines.
"""

import json
import re
from typing import Any, NamedTuple

Path = tuple[str, ...]
EMPTY = "{}\n"
DEPTH_MAX = 100

_INDENT = "  "
_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\\n\r]|\\(?:\r\n|.))*\"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_NUMBER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)")
_WORD = re.compile(r"(?:true|false|null)(?![\w$])")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None}


class Json5Fault(ValueError):
    """A text that is not JSON5; says where and why."""

    def __init__(self, text: str, at: int, why: str) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {why}")


class Node(NamedTuple):
    """A value and its place in the text; objects and arrays have parts."""

    start: int
    end: int
    value: Any
    parts: "list[Part]"


class Part(NamedTuple):
    """A member of an object, or an item of an array, which has no name; and the end of the comma after it."""

    start: int
    name: str | None
    node: Node
    comma_end: int | None


def read(text: str) -> Node:
    """Return the value of a whole text; raise `Json5Fault`."""
    reader = _Reader(text)
    root = reader.value(0)
    if reader.next_sign():
        raise reader.fault("nothing may follow the value")
    return root


class _Reader:
    """A place in a text, which moves on as values are read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def fault(self, why: str) -> Json5Fault:
        """Say what is wrong where we are."""
        return Json5Fault(self._text, self._at, why)

    def next_sign(self) -> str:
        """Move past spaces and comments, and return what comes then; empty at the end."""
        self._take(_SPACE)
        return self._text[self._at : self._at + 1]

    def value(self, depth: int) -> Node:
        """Read the value that comes next."""
        sign, start = self.next_sign(), self._at
        if depth > DEPTH_MAX:
            raise self.fault(f"more than {DEPTH_MAX} values within each other")
        parts: list[Part] = []
        value: Any
        if sign == "{":
            parts = self._parts("}", depth)
            value = {part.name: part.node.value for part in parts}
        elif sign == "[":
            parts = self._parts("]", depth)
            value = [part.node.value for part in parts]
        elif sign in ("'", '"'):
            value = self._string()
        elif number := self._take(_NUMBER):
            value = _number(number[1], number[2])
        elif word := self._take(_WORD):
            value = _WORDS[word[0]]
        else:
            raise self.fault("a value is missing")
        return Node(start, self._at, value, parts)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past what matches here."""
        if found := pattern.match(self._text, self._at):
            self._at = found.end()
        return found

    def _parts(self, close: str, depth: int) -> list[Part]:
        """Read what is between two brackets, with both of them."""
        self._at += 1
        parts: list[Part] = []
        while (sign := self.next_sign()) not in ("", close):
            start, name, comma_end = self._at, None, None
            if close == "}":
                name = self._name(sign)
                self._expect(":")
            node = self.value(depth + 1)
            if self.next_sign() == ",":
                self._at += 1
                comma_end = self._at
            elif self.next_sign() != close:
                raise self.fault(f"a comma or {close} is missing")
            parts.append(Part(start, name, node, comma_end))
        self._expect(close)
        return parts

    def _expect(self, sign: str) -> None:
        if self.next_sign() != sign:
            raise self.fault(f"{sign} is missing")
        self._at += 1

    def _name(self, sign: str) -> str:
        if sign in ("'", '"'):
            return self._string()
        if found := self._take(_NAME):
            return found[0]
        raise self.fault("a name is missing")

    def _string(self) -> str:
        found = self._take(_STRING)
        if found is None:
            raise self.fault("the text in quotes does not end")
        plain = _ESCAPE.sub(_unescaped, found[0][1:-1])
        # Two halves of a sign may have been escaped one after the other.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(escape: re.Match[str]) -> str:
    sign = escape[1]
    if sign[0] in "ux" and len(sign) > 1:
        return chr(int(sign[1:], 16))
    return "" if sign[0] in "\r\n\u2028\u2029" else _SIGNS.get(sign, sign)


def _number(sign: str, digits: str) -> int | float:
    is_hex = digits[:2] in ("0x", "0X")
    whole = int(digits, 16) if is_hex else int(digits) if digits.isdigit() else float(digits)
    return -whole if sign == "-" else whole


def with_value(text: str, path: Path, value: Any) -> str:
    """Return the text with this value at a path; missing objects on the way are added."""
    node = read(text)
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise Json5Fault(text, node.start, f"{'.'.join(path[:depth]) or 'the whole'} is not an object")
        part = _member(node, name)
        if part is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _inserted(text, node, name, value)
        node = part.node
    if node.value == value and type(node.value) is type(value):
        return text
    return text[: node.start] + _written(value, _indent_of(text, node.start), _quotes(text)) + text[node.end :]


def with_item(text: str, path: Path, item: Any) -> str:
    """Return the text with this item added to the array at a path."""
    node = _found(text, path)
    if node is None:
        return with_value(text, path, [item])
    if not isinstance(node.value, list):
        raise Json5Fault(text, node.start, f"{'.'.join(path)} is not an array")
    return text if item in node.value else _inserted(text, node, None, item)


def without_item(text: str, path: Path, item: Any) -> str:
    """Return the text without this item of the array at a path; an array that becomes empty is removed."""
    node = _found(text, path)
    if node is None or not isinstance(node.value, list) or item not in node.value:
        return text
    if node.value == [item]:
        return without_value(text, path)
    return _removed(text, node.parts, node.value.index(item))


def without_value(text: str, path: Path) -> str:
    """Return the text without the value at a path, and without objects that become empty."""
    parent = _found(text, path[:-1])
    part = parent and _member(parent, path[-1])
    if not parent or not part:
        return text
    if len(parent.parts) == 1 and len(path) > 1:
        return without_value(text, path[:-1])
    return _removed(text, parent.parts, parent.parts.index(part))


def _member(node: Node, name: str) -> Part | None:
    # Of several with one name the last one counts.
    return next((part for part in reversed(node.parts) if part.name == name), None)


def _found(text: str, path: Path) -> Node | None:
    node = read(text)
    for name in path:
        part = _member(node, name)
        if part is None:
            return None
        node = part.node
    return node


def _inserted(text: str, within: Node, name: str | None, value: Any) -> str:
    """Return the text with one more part at the end of an object or array, in the style of those that are there."""
    quoted, outer = _quotes(text), _indent_of(text, within.start)
    if not text[within.start + 1 : within.end - 1].strip():
        whole = [value] if name is None else {name: value}
        return text[: within.start] + _written(whole, outer, quoted) + text[within.end :]
    last = within.parts[-1] if within.parts else None
    if last and "\n" not in text[within.start : within.parts[0].start]:
        piece = _label(name, quoted) + _inline(value, quoted)
        if last.comma_end is not None:
            return f"{text[: last.comma_end]} {piece},{text[last.comma_end :]}"
        return f"{text[: last.node.end]}, {piece}{text[last.node.end :]}"
    indent = _indent_of(text, within.parts[0].start) if last else outer + _INDENT
    comma = "," if last and last.comma_end is not None else ""
    line = f"\n{indent}{_label(name, quoted)}{_written(value, indent, quoted)}{comma}"
    # After the last comment, which may say something about the part before.
    end = len(text[: within.end - 1].rstrip())
    # The closing bracket needs a break if it stood on the line of the last part.
    line_end = "" if "\n" in text[end : within.end] else f"\n{indent[: -len(_INDENT)]}"
    changed = text[:end] + line + line_end + text[end:]
    if last and not comma:
        changed = changed[: last.node.end] + "," + changed[last.node.end :]
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
    first = next((part for part in read(text).parts if part.name is not None), None)
    return first is None or text[first.start] in "\"'"


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _written(value: Any, indent: str, quoted: bool) -> str:
    """Return a value in which every member of an object has a line of its own; an array takes one line."""
    if not isinstance(value, dict) or not value:
        return _inline(value, quoted)
    inner = f"\n{indent}{_INDENT}"
    members = (_label(name, quoted) + _written(each, indent + _INDENT, quoted) for name, each in value.items())
    return "{" + inner + f",{inner}".join(members) + ("" if quoted else ",") + f"\n{indent}}}"


def _inline(value: Any, quoted: bool) -> str:
    if isinstance(value, dict) and value:
        return f"{{ {', '.join(_label(name, quoted) + _inline(each, quoted) for name, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(each, quoted) for each in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _label(name: str | None, quoted: bool) -> str:
    """Return a name and its colon; nothing for an item of an array."""
    if name is None:
        return ""
    return f"{name if not quoted and _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)}: "
