"""Holds back live text that may turn out to be a silent reply, which people are not shown."""

from carrel.exchanges import may_be_silent, visible_reply
from carrel.kernel import TextBuffer


class SilentTextFilter:
    """Holds back the text of a lane for as long as it may be a silent reply; a lane has one run at a time."""

    def __init__(self) -> None:
        self._run_id: str | None = None
        self._held = TextBuffer()
        # The text held back, without the blanks around it: no silent reply has two in a row, so one replaces several.
        self._begun = ""

    def add(self, run_id: str, piece: str) -> str:
        """Return the text to show now that a piece arrived, with what was held back before it; empty for none yet."""
        if run_id != self._run_id:
            self._take(run_id)
            self._run_id = run_id
        self._held.add(piece)
        self._begun = (self._begun + piece).lstrip()
        if not may_be_silent(self._begun):
            return self._take(run_id)
        self._begun = self._begun.rstrip() + " " * self._begun[-1:].isspace()
        return ""

    def end(self, run_id: str, reply: str | None) -> str:
        """Return the text still held back when a run has ended; empty for a run without a visible reply."""
        held = self._take(run_id)
        return held if visible_reply(reply) else ""

    def _take(self, run_id: str) -> str:
        held = self._held.text if run_id == self._run_id else ""
        self._run_id, self._held, self._begun = None, TextBuffer(), ""
        return held
