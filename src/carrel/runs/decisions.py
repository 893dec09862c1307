"""Yes and no as people write them. Pure."""

import re

_YES = frozenset({"yes", "y", "ok", "okay", "approve", "allow"})
# A reason may follow, after a punctuation mark or on a line of its own: "no problem" is not a no.
_NO = re.compile(r"(?:no|n|deny|refuse|reject)(?:$|[,.:;!\n]|\s+[-\u2013\u2014\n])")


def decision_in(text: str) -> bool | None:
    """Return the decision that a text is: a yes alone, or a no with or without a reason; None for anything else.

    A yes with more behind it is no decision: a call is made as it is or not at all, and the rest would be lost.
    """
    words = text.strip().lower()
    if words.rstrip(" .!") in _YES:
        return True
    return False if _NO.match(words) else None
