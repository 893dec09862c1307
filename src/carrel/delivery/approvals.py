"""Tool calls that need a person's approval: the question is asked before the call is made, and the answer decides it.

The call stays open while its run waits. Question and decision are entries of the run, so both survive a restart; the
model sees neither, only the result of the call.
"""

from carrel.agents import Agent
from carrel.delivery.argument_list import list_arguments
from carrel.gateway import ACT_KINDS
from carrel.journal import Entry, entries_of_run
from carrel.kernel import Access, clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX, QUESTION_CHARS_MAX
from carrel.runs import OVERTAKEN, NeedsInput, Run, cancel, live_runs_of_lane, open_calls
from carrel.storage import Tx
from carrel.tools import CATALOG, Catalog

# Keys in the details of questions and of answers.
ASKS = "asks"
APPROVAL = "approval"


def must_be_asked(agent: Agent, call: Entry) -> bool:
    """Return whether a call needs approval, under any of its tool's names; what a coding agent asks for always does."""
    name = (call.details or {})["name"]
    return name in ACT_KINDS or CATALOG.needs_approval(name, agent.profile.tools)


def question_of(agent: Agent, catalog: Catalog, call: Entry) -> NeedsInput:
    """Return the question that people are asked about a call: what it does, the tool's name, and the arguments."""
    details = call.details or {}
    name = clip(one_line(details["name"]), NAME_CHARS_MAX)
    asked = f"May {agent.slug} {catalog.purpose_of(name)}? ({name})"
    rest = QUESTION_CHARS_MAX - len(asked) - 1
    question = "\n".join(filter(None, (asked, list_arguments(details["arguments"], rest))))
    return NeedsInput(question=question, waiting_for="approval")


def decision_on(own: list[Entry], call_key: str) -> Entry | None:
    """Return the answer to the question about a call; None while there is none."""
    asked = next((entry.seq for entry in own if (entry.details or {}).get(ASKS) == call_key), None)
    if asked is None:
        return None
    return next((entry for entry in own if entry.seq > asked and APPROVAL in (entry.details or {})), None)


def is_about_approval(entry: Entry) -> bool:
    """True for questions and answers about approval, which are not part of the conversation."""
    return not (entry.details or {}).keys().isdisjoint((ASKS, APPROVAL))


def end_overtaken(tx: Tx, access: Access, run: Run) -> None:
    """End the runs of a lane that wait for permission, when what a person said since begins another turn.

    A coding agent has one turn, so it no longer waits for the decision. What was said before the question, or by
    nobody, leaves the question open: the decision then begins a turn again.
    """
    if run.provenance_kind != "external_user":
        return
    for other in live_runs_of_lane(tx, access, run.key):
        asked_first = other.waiting_for == "approval" and other.updated_at <= run.created_at
        if asked_first and _asks_permission(entries_of_run(tx, access, other.id)):
            cancel(tx, access, other.id, OVERTAKEN)


def _asks_permission(own: list[Entry]) -> bool:
    return any((call.details or {})["name"] in ACT_KINDS for call in open_calls(own))
