"""Redaction of secrets by their shape: tokens, API keys and private keys, in any text that is about to be shown.

A secret that is known word for word is removed from a model's stream by `carrel.gateway.secret_filter`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

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
_SECRET_NAMES = re.compile(r"(?i)token|secret|passw|api_?key|authori[sz]ation|cookie|credential")
REDACTED = "[redacted]"
_DEPTH_MAX = 32


def redact(value: object) -> str:
    """Return a text with everything that looks like a token or key replaced by `[redacted]`.

    Anything else is returned as JSON, also without what is stored under names like `password` or nested too deeply.
    """
    text = value if isinstance(value, str) else json.dumps(_named(value, _DEPTH_MAX), ensure_ascii=False, default=str)
    return _SECRETS.sub(REDACTED, text)


def _named(value: Any, depth_max: int) -> Any:
    """Return a value without what has the name of a secret."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth_max == 0:
        return REDACTED
    if isinstance(value, Mapping):
        return {
            str(name): REDACTED if _SECRET_NAMES.search(str(name)) else _named(inner, depth_max - 1)
            for name, inner in value.items()
        }
    return [_named(inner, depth_max - 1) for inner in value]
