"""Text on its way from a stream to the caller of a step."""

from carrel.gateway.answers import BETWEEN_MESSAGES, whole_characters
from carrel.gateway.model import OnText


class LiveText:
    """Passes streamed text on in whole characters, with a gap between the messages of one answer."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._source: object = None
        self._half = ""

    def emit(self, source: object, text: str) -> None:
        """Pass on a piece of the message that `source` identifies."""
        if self._source is not None and self._source is not source:
            self._on_text(BETWEEN_MESSAGES)
        self._source = source
        # Some servers split a surrogate pair: its first half waits for the second.
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text:
            self._on_text(whole_characters(text))
