"""Refusals of names and values that are not known: they say what was probably meant, and what is allowed. Pure."""

from collections.abc import Iterable

from carrel.kernel.errors import Code, Refusal
from carrel.kernel.limits import NAMES_LISTED_MAX
from carrel.kernel.text import clip

_SHOWN_CHARS = 80


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that was most likely meant; empty if none is close."""
    # Only a mistake pays for the import.
    from difflib import get_close_matches

    by_spelling = {one.lower(): one for one in known}
    # A long word takes long to compare, and is no misspelt name.
    close = get_close_matches(word[:_SHOWN_CHARS].lower(), by_spelling, n=1)
    return by_spelling[close[0]] if close else ""


def not_allowed(
    field: str, given: str | None, allowed: Iterable[str], *, code: Code = Code.INVALID_PARAMS, of: str = ""
) -> Refusal:  # fmt: skip
    """Return the refusal of a value that is none of a closed set; `given` is None where it is not even a text.

    `of` begins the message.
    """
    known = list(allowed)
    expected = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    return Refusal(code, f"{of}{field} must be {expected}{_meant(given or '', known)}", field=field)


def unknown_name(
    field: str | None, what: str, name: str, known: Iterable[str], *, code: Code = Code.INVALID_PARAMS
) -> Refusal:  # fmt: skip
    """Return the refusal of a name that nothing has which the caller may know of; `known` are those it may know."""
    names = sorted(known)
    listed = f"{', '.join(names[:NAMES_LISTED_MAX])}{', …' if len(names) > NAMES_LISTED_MAX else ''}"
    end = f" Known: {listed}." if names else " There is none yet."
    return Refusal(code, f"There is no {what} '{clip(name, _SHOWN_CHARS)}'{_meant(name, names)}{end}", field=field)


def _meant(given: str, known: list[str]) -> str:
    meant = nearest(given, known)
    return f"; did you mean '{meant}'?" if meant else "."
