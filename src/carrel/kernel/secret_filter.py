"""Redaction of secrets by their shape: tokens, API keys and private keys, in any text that is about to be shown.

A secret that is known word for word is removed from a model's stream by `carrel.gateway.secret_filter`.
"""

import re

_SECRETS = re.compile(
    r"crl_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]+"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|(?i:bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
REDACTED = "[redacted]"


def redact(text: str) -> str:
    """Return `text` with everything that looks like a token or key replaced by `[redacted]`."""
    return _SECRETS.sub(REDACTED, text)
