"""What no request may hold: looked up in everything that the gateway of a world received. Pure."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.canary.marks import FIELDS, Mark, marks_in

# An agent that asks for these is shown what it asked for, also from before a reopening; in the call's output alone.
READING_TOOLS = ("task_history", "task_load", "task_get", "task_thread", "task_list", "task_search")
# What the orchestrator is shown in its chat besides the chat itself.
IN_OVERVIEW = ("title", "briefing")
# Account, key and generation.
Place = tuple[str, str, int]


@dataclass(frozen=True)
class Received:
    """A request as the gateway received it: from which session, of which account."""

    account: str
    key: str
    generation: int
    body: str

    @property
    def place(self) -> Place:
        """The session that it came from."""
        return self.account, self.key, self.generation


@dataclass(frozen=True)
class Evidence:
    """What a world leaves behind."""

    requests: list[Received]
    # How often the task of a session had been reopened when that session was opened.
    epochs: dict[Place, int]
    # What was written to agents before a reopening and heard after it: how often the task had been reopened by then.
    carried: dict[Mark, int] = field(default_factory=dict)
    # The orchestrator chats, by account.
    chats: dict[str, str] = field(default_factory=dict)
    task_scoped: bool = True
    # What happened to runs that failed; in these worlds only a crash gives them a reason to.
    failures: list[str] = field(default_factory=list)


def leaks(evidence: Evidence) -> list[str]:
    """Return a sentence for every foreign mark in a request, and for every run that failed."""
    return evidence.failures + [
        f"a request of {request.key}:v{request.generation} in {request.account} holds {mark}: {why}"
        for request in evidence.requests
        for mark in sorted(marks_in(request.body))
        if (why := _why_foreign(evidence, request, mark)) is not None
    ]


def _why_foreign(evidence: Evidence, request: Received, mark: Mark) -> str | None:
    if mark.account != request.account:
        return "it belongs to another account"
    agent, _, rest = request.key.removeprefix("agent:").partition(":")
    if not rest.startswith("task:"):
        is_shared = rest == "main" and not evidence.task_scoped
        is_own = is_shared or mark.place == f"{agent}+{rest}"
        return None if is_own or _is_of_board(evidence, mark) else "it belongs to another lane"
    if mark not in marks_in(outside_readings(request.body)):
        return None
    task = rest.removeprefix("task:")
    if mark.place != task:
        in_overview = evidence.chats.get(request.account) == task and mark.what in IN_OVERVIEW
        return None if in_overview else "it belongs to another task"
    is_late = mark.what not in FIELDS and epoch_of(evidence, mark) < evidence.epochs[request.place]
    return "it is from before the reopening" if is_late else None


def _is_of_board(evidence: Evidence, mark: Mark) -> bool:
    """Whether a mark belongs to a task: chats are shown what is on the board, and may repeat it.

    What is said in the main lane belongs to tasks where these have no lanes of their own.
    """
    return "+" not in mark.place or (mark.place.endswith("+main") and not evidence.task_scoped)


def epoch_of(evidence: Evidence, mark: Mark) -> int:
    """Return how often its task had been reopened when a text was written, or first heard."""
    if mark.when.startswith("v"):
        written = evidence.epochs[mark.account, f"agent:{mark.what}:task:{mark.place}", int(mark.when[1:])]
    else:
        written = int(mark.when)
    return max(written, evidence.carried.get(mark, 0))


def outside_readings(body: str) -> str:
    """Return a request without the outputs of the calls with which its agent asked to read tasks."""
    sent = json.loads(body)
    if not isinstance(sent["input"], list):
        return body
    asked = {item["call_id"] for item in sent["input"] if item.get("name") in READING_TOOLS}
    kept: list[Any] = [
        item for item in sent["input"] if item.get("type") != "function_call_output" or item["call_id"] not in asked
    ]
    return json.dumps(sent | {"input": kept}, ensure_ascii=False)
