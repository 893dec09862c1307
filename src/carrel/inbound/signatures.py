"""Signatures: whether the sender of a delivery knows the webhook's secret. Pure; times are arguments."""

import hmac
from hashlib import sha256

from carrel.kernel import MS_PER_SECOND
from carrel.kernel.limits import WEBHOOK_AGE_SECONDS_MAX

_AGE_MS = WEBHOOK_AGE_SECONDS_MAX * MS_PER_SECOND


def signature_of(secret: bytes, content: bytes) -> str:
    """Return the signature of some content: HMAC-SHA256 in hex."""
    return hmac.new(secret, content, sha256).hexdigest()


def signature_fault(given: str, expected: str, header: str) -> str | None:
    """Return what is wrong with a signature; None if it is the expected one. Compares in constant time."""
    if hmac.compare_digest(given.strip().encode(), expected.encode()):
        return None
    return f"the signature in {header} is wrong" if given else f"the header {header} is missing"


def age_fault(sent_ms: int | None, now_ms: int) -> str | None:
    """Return what is wrong with the time of a signature; None if it is recent."""
    if sent_ms is None:
        return "it does not say when it was signed"
    if abs(now_ms - sent_ms) <= _AGE_MS:
        return None
    return f"it was signed more than {WEBHOOK_AGE_SECONDS_MAX // 60} minutes ago, or the clocks differ"
