"""The text of posts: the outcome of a run in words, and long texts split into parts that Telegram accepts."""

from carrel.exchanges import visible_reply
from carrel.kernel.limits import TELEGRAM_MESSAGE_UNITS_MAX
from carrel.runs import Run


def outcome_words(run: Run, about: str) -> str | None:
    """Return what is posted about a run's outcome; None for nothing."""
    if about == "completed":
        return visible_reply(run.reply)
    if about == "failed":
        return f"That did not work: {run.error_message or run.reason or 'it failed.'}"
    if run.state != "waiting":
        # It was answered elsewhere before the question was posted.
        return None
    question = run.question or "How should I go on?"
    return f"{question}\n\nAnswer yes or no." if run.waiting_for == "approval" else question


def parts_of(text: str, units_max: int = TELEGRAM_MESSAGE_UNITS_MAX) -> list[str]:
    """Split a text into parts that fit one message each, at the end of a paragraph, line or word; no part is blank.

    The same text always gives the same parts, so a post that was interrupted continues with its next part.
    """
    parts, rest = [], text.strip()
    while rest:
        length = _fitting(rest, units_max)
        if length < len(rest):
            length = _break_before(rest, length)
        part = rest[:length].rstrip()
        if part:
            parts.append(part)
        rest = rest[length:].lstrip("\n") if part else rest[length:].lstrip()
    return parts


def _fitting(text: str, units_max: int) -> int:
    """Return how many characters fit; those beyond the first Unicode plane count twice."""
    units = 0
    for at, character in enumerate(text[: units_max + 1]):
        units += 1 + (ord(character) > 0xFFFF)
        if units > units_max:
            return at
    return len(text)


def _break_before(text: str, length: int) -> int:
    """Return where the last paragraph, line or word before `length` ends, if that is not too far back."""
    for separator in ("\n\n", "\n", " "):
        at = text.rfind(separator, length // 2, length)
        if at > 0:
            return at + len(separator)
    return length
