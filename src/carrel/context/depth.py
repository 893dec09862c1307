"""How much a context searches: by its mode, and by whether a question says enough to search for. Pure."""

import re

from msgspec import Struct, structs

from carrel.context.model import DEPTHS, ContextLimits, Depth
from carrel.kernel.settings import ContextSettings

_AFFIRMATION_CHARS_MAX = 24
_AFFIRMATIONS = frozenset(
    text
    for line in (
        "ok, okay, k, yes, y, yep, yeah, yup, sure, fine, good, great, perfect, nice, cool, right, correct, exactly",
        "agreed, done, thanks, thank you, continue, proceed, go, go on, go ahead, go for it, do it, do that, do so",
        "please, please do, sounds good, looks good, all good, that works, makes sense, carry on, keep going",
        "of course, ship it, no, nope, no thanks, resume, next, next one, what now, now what, and now, what next",
        "what s next, where were we",
    )
    for text in line.split(", ")
)
_AGREEING = re.compile(r"(?:ok|okay|yes|yep|yeah|sure|great|thanks) ")
_WORD = re.compile(r"\w+")
_SIGNAL_CHARS, _SIGNAL_WORDS, _SIGNAL_WORD_CHARS = 6, 2, 4


class ResultCounts(Struct, frozen=True):
    """How many results of each kind recall shows."""

    topics: int
    tasks: int
    logs: int
    notes: int


_PATIENT, _NOTES = ResultCounts(topics=5, tasks=8, logs=12, notes=10), 6


def depth_named(text: str | None) -> Depth:
    """Return the mode of that name; `auto` for every other text."""
    return next((mode for mode in DEPTHS if mode == text), "auto")


def is_low_signal(question: str) -> bool:
    """Return whether a question gives nothing to search for: it is empty, a command, a short agreement or "go on"."""
    text = question.strip()
    if not text or text.startswith("/"):
        return True
    said = " ".join(_WORD.findall(text.lower()))
    return len(text) <= _AFFIRMATION_CHARS_MAX and (said in _AFFIRMATIONS or _AGREEING.sub("", said) in _AFFIRMATIONS)


def has_signal(question: str) -> bool:
    """Return whether a question says enough to search for."""
    text, words = question.strip(), _WORD.findall(question)
    long_enough = len(text) >= _SIGNAL_CHARS or len(words) >= _SIGNAL_WORDS
    return not is_low_signal(text) and (long_enough or any(len(word) >= _SIGNAL_WORD_CHARS for word in words))


def recalls(mode: Depth, question: str, *, in_board_session: bool) -> bool:
    """Return whether a context includes a search; an empty question finds nothing."""
    if mode == "cheap" or not question.strip():
        return False
    return mode != "auto" or has_signal(question) or (in_board_session and is_low_signal(question))


def result_counts(mode: Depth, settings: ContextSettings, limits: ContextLimits) -> ResultCounts:
    """Return how much recall shows: what the request asks for, else by mode."""
    usual = ResultCounts(topics=settings.topic_limit, tasks=settings.task_limit, logs=settings.log_limit, notes=_NOTES)
    asked = {"topics": limits.topics, "tasks": limits.tasks, "logs": limits.logs}
    given = {name: count for name, count in asked.items() if count is not None}
    return structs.replace(_PATIENT if mode == "patient" else usual, **given)
