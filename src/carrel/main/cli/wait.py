"""Waiting for a run and telling how it stands; shared by the commands that say something to an agent."""

from math import ceil
from typing import Any

from carrel.bridge import Client, segment
from carrel.kernel import elapsed_seconds
from carrel.main.cli.command import Exit
from carrel.main.cli.output import Screen

# One request waits this long; then the run is looked at, because one that waits for a person never answers.
_LOOK_SECONDS = 10
_ENDED = frozenset({"completed", "failed", "cancelled"})

Run = dict[str, Any]


def read_run(client: Client, run_id: str) -> Run:
    """Return the run as it stands."""
    run: Run = client.get(f"/api/runs/{segment(run_id)}")["run"]
    return run


def wait_for(client: Client, run_id: str, screen: Screen, *, seconds: float) -> Run:
    """Return the run when it has ended or waits for a person, or as it is when the time is up."""
    deadline = elapsed_seconds() + seconds
    with screen.waiting("waiting for the answer…"):
        while True:
            left = deadline - elapsed_seconds()
            look = max(0, min(_LOOK_SECONDS, ceil(left)))
            client.get(
                f"/api/runs/{segment(run_id)}/wait", {"timeoutSeconds": look}, timeout_seconds=look + _LOOK_SECONDS
            )
            run = read_run(client, run_id)
            if settled(run) or elapsed_seconds() >= deadline:
                return run


def settled(run: Run) -> bool:
    """Whether nothing more will come of the run by itself."""
    return run["state"] in _ENDED or run["state"] == "waiting"


def tell(run: Run, screen: Screen, *, with_reply: bool = True) -> int:
    """Show what came of the run and return the number to end with; the reply alone goes to stdout."""
    state = run["state"]
    if state == "completed":
        if with_reply:
            screen.line(run.get("reply") or "")
        return Exit.OK
    if state == "waiting":
        if with_reply:
            screen.line(asks(run))
        screen.note(f"Answer with `carrel runs answer {run['id']} …`.")
        return Exit.OK
    if state in _ENDED:
        screen.note(f"The run {state}: {why_ended(run)}")
        return Exit.FAILED
    screen.note(f"Not answered yet ({state}); `carrel runs wait {run['id']}` waits on.")
    return Exit.TIMED_OUT


def asks(run: Run) -> str:
    """Return what a waiting run asks of a person."""
    question = run.get("reply") or run.get("note") or "It waits for you."
    return f"Waiting for your {run.get('waitingFor') or 'input'}: {question}"


def why_ended(run: Run) -> str:
    """Return why a run came to no good end, in a few words."""
    error = run.get("error") or {}
    words = error.get("message") or run.get("note") or run.get("reason") or "no reason was given"
    return f"{words} (`carrel runs why {run['id']}` tells more)" if run["state"] == "failed" else str(words)


def answer_run(client: Client, run: Run, text: str) -> Run:
    """Give a waiting run the person's answer; for an approval yes and no are what they say."""
    body: dict[str, object] = {"text": text}
    if run.get("waitingFor") == "approval":
        word = text.strip().lower()
        approve = word in ("y", "yes", "ok", "approve")
        body = {"approve": approve} if approve or word in ("n", "no", "deny") else {"approve": False, "text": text}
    answered: Run = client.post(f"/api/runs/{segment(run['id'])}/answer", body)["run"]
    return answered
