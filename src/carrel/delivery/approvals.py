"""Calls that a person must agree to first: the question is asked before the call is made, and the answer decides it.

The call stays open while its run waits. What was asked and what was decided are entries of the run, so both outlive a
restart; neither is shown to the model, which learns of the decision by the call's result alone.
"""

from fnmatch import fnmatchcase

from carrel.delivery.snapshot import Snapshot
from carrel.journal import Entry
from carrel.kernel import clip
from carrel.kernel.limits import QUESTION_CHARS_MAX
from carrel.runs import NeedsInput

# What the details of such entries are known by.
ASKS = "asks"
APPROVAL = "approval"


def must_be_asked(snapshot: Snapshot, call: Entry) -> bool:
    """True for a tool that the agent may use only when a person agrees."""
    name = (call.details or {})["name"]
    return any(fnmatchcase(name, pattern) for pattern in snapshot.agent.profile.tools.ask)


def question_of(call: Entry) -> NeedsInput:
    """The question whether a call may be made, with the call shown."""
    details = call.details or {}
    words = f"May {details['name']} be called with {details['arguments'] or '{}'}?"
    return NeedsInput(question=clip(words, QUESTION_CHARS_MAX), waiting_for="approval")


def decision_on(own: list[Entry], known_as: str) -> Entry | None:
    """The person's answer to the question about a call; None while there is none."""
    asked = next((entry.seq for entry in own if (entry.details or {}).get(ASKS) == known_as), None)
    if asked is None:
        return None
    return next((entry for entry in own if entry.seq > asked and APPROVAL in (entry.details or {})), None)


def is_about_approval(entry: Entry) -> bool:
    """True for entries that belong to a question of this kind and not to the talk."""
    return not (entry.details or {}).keys().isdisjoint((ASKS, APPROVAL))
