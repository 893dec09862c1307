"""What people state so explicitly that it is kept without being asked to: decisions, rules, and what to remember.

Rules over a person's own message, and nothing else: a word such as "error" in a text keeps nothing. Pure.
"""

import re

from carrel.kernel.limits import MEMORY_STATED_CHARS_MAX, MEMORY_STATED_MAX
from carrel.memory.model import MemoryType, NewMemory

# Less sure than what somebody keeps on purpose.
_CONFIDENCE = 0.7
_FENCED = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_ASKED = r"(?:please )?(?:remember|keep in mind)"
_FORMS: dict[MemoryType, re.Pattern[str]] = {
    "preference": re.compile(rf"{_ASKED}(?: that|:)? (?P<said>i (?:prefer|like|dislike|want|hate)\b.+)", re.IGNORECASE),
    "fact": re.compile(rf"{_ASKED}(?: that|:) (?P<said>.+)", re.IGNORECASE),
    "decision": re.compile(r"(?P<said>we(?: have|'ve)? (?:decided|agreed) .+)", re.IGNORECASE),
    "constraint": re.compile(
        r"(?P<said>(?:please )?(?:always|never) \w+ .+|(?:you|we|it|they) must .+)", re.IGNORECASE
    ),
}


def stated_in(text: str) -> list[NewMemory]:
    """Return what a person's message states, in its order; quotes, code and questions state nothing."""
    found: list[NewMemory] = []
    for sentence in _SENTENCES.split(_FENCED.sub("", text)):
        stated = _stated(sentence.strip())
        if stated is not None and len(found) < MEMORY_STATED_MAX:
            found.append(stated)
    return found


def _stated(sentence: str) -> NewMemory | None:
    if sentence.endswith("?") or len(sentence) > MEMORY_STATED_CHARS_MAX:
        return None
    for kind, form in _FORMS.items():
        match = form.fullmatch(sentence)
        if match is not None:
            return NewMemory(type=kind, content=match["said"], confidence=_CONFIDENCE)
    return None
