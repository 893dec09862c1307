"""Removal of one known secret, the run token, from a model's answer: while it streams, and in the whole answer.

Secrets that are known only by their shape are redacted by `carrel.kernel.secret_filter`.
"""

import msgspec

from carrel.gateway.model import OnText, StepAnswer
from carrel.kernel import REDACTED


class SecretFilter:
    """Passes streamed text on without a secret. A piece may end inside it, so a possible beginning is held back."""

    def __init__(self, secret: str, on_text: OnText) -> None:
        self._secret = secret
        self._on_text = on_text
        self._held = ""

    def feed(self, piece: str) -> None:
        """Take the next piece and pass on what cannot be part of the secret."""
        text = (self._held + piece).replace(self._secret, REDACTED)
        length = min(len(text), len(self._secret) - 1)
        held = next((size for size in range(length, 0, -1) if text.endswith(self._secret[:size])), 0)
        safe, self._held = text[: len(text) - held], text[len(text) - held :]
        if safe:
            self._on_text(safe)

    def end(self) -> None:
        """Pass on what was held back: nothing follows that could complete the secret."""
        if self._held:
            self._on_text(self._held)


def without_secret(secret: str, answer: StepAnswer) -> StepAnswer:
    """Return the answer as it may be stored: some agents show the token in the calls they made with it."""
    text = msgspec.json.encode(answer)
    if secret.encode() not in text:
        return answer
    return msgspec.json.decode(text.replace(secret.encode(), REDACTED.encode()), type=StepAnswer)
