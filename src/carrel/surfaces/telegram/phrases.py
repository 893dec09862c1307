"""The words of posts: what a run has come to, said to people, and a long text in parts that Telegram takes. Pure."""

from carrel.kernel import visible_reply
from carrel.kernel.limits import TELEGRAM_MESSAGE_UNITS_MAX
from carrel.runs import Run

_YES = ("yes", "y", "ok", "approve", "allow")
_NO = ("no", "n", "deny", "reject")


def outcome_words(run: Run, about: str) -> str | None:
    """What is said of a run's outcome; None when that is nothing."""
    if about == "completed":
        return visible_reply(run.reply)
    if about == "failed":
        return f"That did not work: {run.error_message or run.reason or 'it failed.'}"
    if run.state != "waiting":
        # It was answered elsewhere before it could be asked here.
        return None
    question = run.question or "How shall I go on?"
    return f"{question}\n\nAnswer yes or no." if run.waiting_for == "approval" else question


def decision_in(text: str) -> bool | None:
    """Yes or no as people write it; None for anything else."""
    word = text.strip().rstrip(".!").lower()
    return True if word in _YES else False if word in _NO else None


def parts_of(text: str, units_max: int = TELEGRAM_MESSAGE_UNITS_MAX) -> list[str]:
    """A text in parts, each within the bound of one message, cut where a reader would pause; none of nothing but space.

    The same text always gives the same parts: a post goes on with the part it stood at.
    """
    parts, rest = [], text.strip()
    while rest:
        length = _fitting(rest, units_max)
        if length < len(rest):
            length = _pause(rest, length)
        part = rest[:length].rstrip()
        if part:
            parts.append(part)
        rest = rest[length:].lstrip("\n") if part else rest[length:].lstrip()
    return parts


def _fitting(text: str, units_max: int) -> int:
    """How many characters fit; those outside of the first plane count twice."""
    units = 0
    for at, sign in enumerate(text[: units_max + 1]):
        units += 1 + (ord(sign) > 0xFFFF)
        if units > units_max:
            return at
    return len(text)


def _pause(text: str, length: int) -> int:
    """The last chat_address before `length` where a paragraph, a line or a word ends, if it is not too far back."""
    for sign in ("\n\n", "\n", " "):
        at = text.rfind(sign, length // 2, length)
        if at > 0:
            return at + len(sign)
    return length
