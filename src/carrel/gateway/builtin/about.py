"""What a message about a task is about: read from the heading that stands before it.

The heading is ours, but titles and names in it are other people's words. Only lines at a known place count.
"""

import re

from msgspec import Struct

_ANCHORS = re.compile(r"\[(?P<notified>notification \S+ · )?message \S+ · task (?P<task>\S+)\]")
_ORIGIN = re.compile(r".* \((?:a person|an agent|the server)\) (?P<reason>[a-z ]+); the message comes last\.")
_MENTIONS = re.compile(r'(?:@(?:"[^"\n]{1,200}"|[\w.-]{1,200}?)[,:]?[ \t]+){1,20}')
_ASSIGNED = "assigned you"
_DIRECT = "wrote to you"
# The message is what somebody said; everything else is our own sentence about what was done.
_SAID = ("mentioned you", "wrote in the thread", _DIRECT, "asks you for a response")
# What others say in a thread, and changes of a task, ask for nothing.
_FOR_INFORMATION = ("wrote in the thread", "changed the task")


class About(Struct, frozen=True, kw_only=True):
    """The task of a message, and why the agent got it; `reason` is empty where the heading has no space for it."""

    task_id: str
    title: str
    reason: str
    is_notification: bool

    @property
    def is_said(self) -> bool:
        """Whether the message is what somebody said, and not a sentence about a title or a change."""
        return self.reason in _SAID or not (self.reason or self.is_notification)

    @property
    def is_direct(self) -> bool:
        """Whether the agent was written to directly, and not notified."""
        return self.reason == _DIRECT

    @property
    def is_assignment(self) -> bool:
        """Whether the agent was assigned to the task."""
        return self.reason == _ASSIGNED

    @property
    def is_for_information(self) -> bool:
        """Whether nobody waits for an answer, unless a person wrote it."""
        return self.reason in _FOR_INFORMATION


def read_heading(text: str) -> About | None:
    """Read the heading of a message; None for any other text."""
    first, *more = text.splitlines() or [""]
    anchors = _ANCHORS.fullmatch(first)
    if anchors is None:
        return None
    origin = _ORIGIN.fullmatch(more[0]) if more else None
    named = f"Task {anchors['task']}: "
    title = more[1].removeprefix(named) if len(more) > 1 and more[1].startswith(named) else ""
    return About(
        task_id=anchors["task"],
        title=title,
        reason="" if origin is None else origin["reason"],
        is_notification=anchors["notified"] is not None,
    )


def quotable(text: str) -> str:
    """Return what may be quoted of a text beside the message: of a heading not the lines that are only ours."""
    return text if read_heading(text) is None else "\n".join(text.splitlines()[2:])


def without_mentions(text: str) -> str:
    """Return a text without the mentions that it begins with."""
    found = _MENTIONS.match(text)
    return text if found is None else text[found.end() :].lstrip()
