"""JSON5, as people write it into settings files: read with the place of every value, so that a value can be changed.

What JSON5 adds to JSON: comments, trailing commas, names without quotes, single quotes, and more ways to write numbers.
Names with `\\u` escapes are not supported, since nobody writes them.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\\n\r]|\\(?:\r\n|.))*\"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None}
DEPTH_MAX = 100


class Json5Fault(ValueError):
    """A text that is not JSON5; says where and why."""

    def __init__(self, text: str, at: int, why: str) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {why}")


@dataclass
class Node:
    """A value and its place in the text; objects and arrays have parts."""

    start: int
    end: int
    value: Any
    parts: "dict[str, Part] | list[Part] | None" = None


class Part(NamedTuple):
    """A member of an object or item of an array: its start, its value, and the end of the comma after it."""

    start: int
    node: Node
    comma_end: int | None


def read(text: str) -> Node:
    """Return the value of a whole text; raise `Json5Fault`."""
    reader = _Reader(text)
    root = reader.value(0)
    if reader.skip_space() != len(text):
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

    def skip_space(self) -> int:
        """Move past spaces and comments."""
        found = _SPACE.match(self._text, self._at)
        assert found is not None, "it matches nothing as well"
        self._at = found.end()
        return self._at

    def value(self, depth: int) -> Node:
        """Read the value that begins here."""
        start = self.skip_space()
        if depth > DEPTH_MAX:
            raise self.fault(f"more than {DEPTH_MAX} values within each other")
        sign = self._sign()
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._array(depth)
        value = self._string() if sign in ("'", '"') else self._number_or_word()
        return Node(start, self._at, value)

    def _sign(self) -> str:
        return self._text[self._at : self._at + 1]

    def _object(self, depth: int) -> Node:
        start, parts = self._at, dict[str, Part]()
        self._at += 1
        while self.skip_space() < len(self._text) and self._sign() != "}":
            begin = self._at
            name = self._name()
            self.skip_space()
            self._expect(":")
            node = self.value(depth + 1)
            parts[name] = Part(begin, node, self._comma("}"))
        self._expect("}")
        return Node(start, self._at, {name: part.node.value for name, part in parts.items()}, parts)

    def _array(self, depth: int) -> Node:
        start, parts = self._at, list[Part]()
        self._at += 1
        while self.skip_space() < len(self._text) and self._sign() != "]":
            node = self.value(depth + 1)
            parts.append(Part(node.start, node, self._comma("]")))
        self._expect("]")
        return Node(start, self._at, [part.node.value for part in parts], parts)

    def _comma(self, close: str) -> int | None:
        """Read the comma after a part; the last one needs none."""
        self.skip_space()
        if self._sign() == ",":
            self._at += 1
            return self._at
        if self._sign() != close:
            raise self.fault(f"a comma or {close} is missing")
        return None

    def _expect(self, sign: str) -> None:
        if self._sign() != sign:
            raise self.fault(f"{sign} is missing")
        self._at += 1

    def _name(self) -> str:
        if self._sign() in ("'", '"'):
            return self._string()
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self.fault("a name is missing")
        self._at = found.end()
        return found[0]

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self.fault("the text in quotes does not end")
        self._at = found.end()
        plain = _ESCAPE.sub(_unescaped, found[0][1:-1])
        # Two halves of a sign may have been escaped one after the other.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _number_or_word(self) -> Any:
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return _number(number[1], number[2])
        word = _NAME.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            raise self.fault("a value is missing")
        self._at = word.end()
        return _WORDS[word[0]]


def _unescaped(escape: re.Match[str]) -> str:
    sign = escape[1]
    if sign[0] in "ux" and len(sign) > 1:
        return chr(int(sign[1:], 16))
    return "" if sign[0] in "\r\n\u2028\u2029" else _SIGNS.get(sign, sign)


def _number(sign: str, digits: str) -> int | float:
    is_hex = digits[:2] in ("0x", "0X")
    whole = int(digits, 16) if is_hex else int(digits) if digits.isdigit() else float(digits)
    return -whole if sign == "-" else whole
