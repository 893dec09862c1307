"""Striking out a secret that an agent repeats: in what it says while it says it, and in the whole of its answer."""

import msgspec

from carrel.gateway.model import OnText, StepAnswer
from carrel.kernel import REDACTED


class Striking:
    """Passes text on without a secret. Pieces may split it, so an end that may be its beginning waits for the next."""

    def __init__(self, secret: str, on_text: OnText) -> None:
        self._secret = secret
        self._on_text = on_text
        self._held = ""

    def hear(self, piece: str) -> None:
        """Take the next piece and pass on what is sure to hold no part of the secret."""
        text = (self._held + piece).replace(self._secret, REDACTED)
        length = min(len(text), len(self._secret) - 1)
        held = next((size for size in range(length, 0, -1) if text.endswith(self._secret[:size])), 0)
        sure, self._held = text[: len(text) - held], text[len(text) - held :]
        if sure:
            self._on_text(sure)

    def end(self) -> None:
        """Pass on what was held back: nothing follows that could make it the secret."""
        if self._held:
            self._on_text(self._held)


def without(secret: str, answer: StepAnswer) -> StepAnswer:
    """The answer as it may be kept: agents show the calls they make, and some with the token they made them with."""
    text = msgspec.json.encode(answer)
    if secret.encode() not in text:
        return answer
    return msgspec.json.decode(text.replace(secret.encode(), REDACTED.encode()), type=StepAnswer)
