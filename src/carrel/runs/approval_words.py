"""Yes and no as people write them. Pure."""

import re

_YES = frozenset({"yes", "y", "ok", "okay", "approve", "allow"})
# A reason may follow, after a punctuation mark or on a line of its own: "no problem" is not a no.
_NO = re.compile(r"(?:no|n|deny|refuse|reject)(?:$|[,.:;!\n]|\s+[-\u2013\u2014\n])")


def decision_in(text: str) -> bool | None:
    """Return the decision in a text: a yes alone, or a no with or without a reason; None for anything else.

    A yes with more text is no decision: a call is made unchanged or not at all, and the text would be lost.
    """
    words = text.strip().lower()
    if words.rstrip(" .!") in _YES:
        return True
    return False if _NO.match(words) else None
