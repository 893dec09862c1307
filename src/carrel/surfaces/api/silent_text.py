"""Hushing: words that only say that nothing is said are not passed on to people, not even while they come."""

from carrel.kernel import may_be_silent, visible_reply


class Hush:
    """Holds back what a lane says for as long as it may be silence; a lane has one run at a time."""

    def __init__(self) -> None:
        self._run_id: str | None = None
        self._held = ""

    def hear(self, run_id: str, piece: str) -> str:
        """What may be passed on now that a piece came: it with what was held back before it, or nothing yet."""
        text = self._take(run_id) + piece
        if not may_be_silent(text):
            return text
        self._run_id, self._held = run_id, text
        return ""

    def end(self, run_id: str, reply: str | None) -> str:
        """What is still to be passed on of a run that came to a reply; nothing of one that came to none."""
        held = self._take(run_id)
        return held if visible_reply(reply) else ""

    def _take(self, run_id: str) -> str:
        held = self._held if run_id == self._run_id else ""
        self._run_id, self._held = None, ""
        return held
