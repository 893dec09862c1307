"""Marks: what every text of a world carries, so that it is known wherever it turns up."""

import re
from typing import NamedTuple

_MARK = re.compile(r"⟦([^⟦⟧/]+)/([^⟦⟧/]+)/([^⟦⟧/]+)/([^⟦⟧/]+)/(\d+)⟧")
# What describes a task as a whole and is not said in its course.
FIELDS = ("title", "description")


class Mark(NamedTuple):
    """Where a text belongs: its account, the task or the lane, when it was written, what it is, and a number.

    `when` counts the reopenings of the task before it was written; `v<n>` means the generation of an agent, whose id
    then is `what`.
    """

    account: str
    place: str
    when: str
    what: str
    number: int

    def __str__(self) -> str:
        return f"⟦{self.account}/{self.place}/{self.when}/{self.what}/{self.number}⟧"


def marks_in(text: str) -> set[Mark]:
    """Return every mark that a text holds."""
    found = _MARK.findall(text)
    return {Mark(account, place, when, what, int(number)) for account, place, when, what, number in found}
