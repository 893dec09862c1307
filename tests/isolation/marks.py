"""Marks: a word in every text of a world, and a table of where each comes from."""

import re
from dataclasses import dataclass

_MARK = re.compile(r"zq[a-z]{5}", re.IGNORECASE)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Origin:
    """Where a text comes from.

    What is said has a lane, and a task where it stands in that task's thread; what is kept has neither. A memory has a
    scope; `lane` is then the session, and `goal` or `task` what it is kept for.
    """

    account: str
    kind: str
    # Who wrote it: a person, a client, or the agent's own words.
    by: str = ""
    lane: str | None = None
    # The other end, where one lane wrote to another: it is said in both.
    also: str | None = None
    task: str | None = None
    topic: str | None = None
    goal: str | None = None
    space: str | None = None
    # Notes, titles, names of topics, promoted facts, and what programs log: it travels within its spaces.
    kept: bool = False

    @property
    def lanes(self) -> list[str]:
        """The lanes in which it was said."""
        return [key for key in (self.lane, self.also) if key is not None]

    def __str__(self) -> str:
        places = {"lane": self.lane, "also": self.also, "task": self.task, "goal": self.goal, "space": self.space}
        told = ", ".join(f"{name} {value}" for name, value in places.items() if value)
        return f"{self.kind}{f' by {self.by}' if self.by else ''} ({self.account}{f', {told}' if told else ''})"


class Marks:
    """The table: every mark of a world with its origin."""

    def __init__(self) -> None:
        self.origins: dict[str, Origin] = {}

    def new(self, origin: Origin) -> str:
        """Return a new mark."""
        number, letters = len(self.origins), ""
        for _ in range(5):
            number, at = divmod(number, 26)
            letters = _LETTERS[at] + letters
        mark = f"zq{letters}"
        self.origins[mark] = origin
        return mark

    def found(self, text: str) -> set[str]:
        """Return the marks in a text."""
        return {mark for word in _MARK.findall(text) if (mark := word.lower()) in self.origins}
