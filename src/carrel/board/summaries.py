"""Summaries by rule: an entry in one short line. Pure."""

import re

from carrel.kernel import clip, one_line
from carrel.kernel.limits import SUMMARY_CHARS_MAX, SUMMARY_READ_CHARS_MAX

_FENCED = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"^[\s>#*\-+|\d.)]+")
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def summary_of(text: str) -> str:
    """Return the first meaningful sentence, without markup and cut at a word."""
    read = text[:SUMMARY_READ_CHARS_MAX]
    lines = (_MARKS.sub("", line).strip() for line in _FENCED.sub("", read).splitlines() or [""])
    said = one_line(next(filter(None, lines), "") or read)
    end = _SENTENCE_END.search(said)
    return short(said[: end.end()] if end else said, SUMMARY_CHARS_MAX)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text in order, without markup, code, and lines that programs put in brackets."""
    lines = (_MARKS.sub("", line).strip() for line in _FENCED.sub("", text[:SUMMARY_READ_CHARS_MAX]).splitlines())
    said = (one_line(line) for line in lines if line and not line.startswith("["))
    return [sentence for line in said for sentence in _SENTENCES.split(line) if sentence]


def short(text: str, chars_max: int) -> str:
    """Return a line cut to at most `chars_max` characters, at the end of a word if possible."""
    line = one_line(text)
    if len(line) <= chars_max:
        return line
    head, _, _ = line[:chars_max].rpartition(" ")
    return f"{head}…" if len(head) > chars_max // 2 else clip(line, chars_max)
