"""Waiting for a run and showing its result; shared by the commands that send messages."""

from math import ceil
from typing import Any

from carrel.bridge import Client, Refused, segment
from carrel.kernel import MS_PER_SECOND, SystemClock, elapsed_seconds, parse_iso
from carrel.main.cli.command import Exit, Option, option
from carrel.main.cli.output import Screen

# Events after which a run is read: the stream has begun, maybe not from the start; or the run has settled.
_OPENINGS = frozenset({"stream.ready", "stream.reset"})
_SETTLING = frozenset({"run.waiting", "run.completed", "run.failed", "run.cancelled"})
# One request waits this long; then the run is read: it may have failed an attempt.
_POLL_SECONDS = 1
# A request may take this much longer than it waits.
_SLACK_SECONDS = 10
_ENDED = frozenset({"completed", "failed", "cancelled"})

Run = dict[str, Any]


def wait_option(seconds: float) -> Option:
    """Return the option --wait of a command; `seconds` is its default."""
    text = "wait for the reply, at most S seconds (default: %(const)g)"
    return option("--wait", type=float, nargs="?", const=seconds, metavar="S", help=text)


def read_run(client: Client, run_id: str) -> Run:
    """Return the run's current state."""
    run: Run = client.get(f"/api/runs/{segment(run_id)}")["run"]
    return run


class Troubles:
    """Tells a person of failed attempts while they happen, of each once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._told: set[int] = set()

    def tell(self, fault: dict[str, Any]) -> None:
        """Write which attempt failed, why, and when the next one starts."""
        if fault["attempt"] in self._told:
            return
        self._told.add(fault["attempt"])
        said = f"Attempt {fault['attempt']} of {fault['attemptsMax']} failed: {fault['message'].rstrip('. ')}."
        if fault.get("nextAttemptAt"):
            seconds = max(1, round((parse_iso(fault["nextAttemptAt"]) - SystemClock().now_ms()) / MS_PER_SECOND))
            said += f" Next try in {seconds} s."
        self._screen.note(said)


def wait_for(
    client: Client, run_id: str, screen: Screen, *, seconds: float, troubles: Troubles | None = None
) -> Run:  # fmt: skip
    """Return the run once it has ended or waits for a person, or as it is when the time is up.

    Failed attempts are told meanwhile, except those that `troubles` has told already.
    """
    deadline = elapsed_seconds() + seconds
    troubles = troubles or Troubles(screen)
    with screen.waiting("waiting for the reply…"):
        run = read_run(client, run_id)
        if has_settled(run):
            return run
        _tell_last(run, troubles)
        try:
            return _followed(client, run, troubles, seconds)
        except Refused as fault:
            if fault.code != "not_found":
                raise
        # The caller may see the run and not its session: it is looked at once a second.
        return _polled(client, run_id, troubles, deadline)


def _followed(client: Client, run: Run, troubles: Troubles, seconds: float) -> Run:
    """Follow the events of a run's session, in which no failed attempt is missing, until the run has settled."""
    query = {"sessionKey": run["sessionKey"], "events": "run"}
    for event in client.stream("/api/stream", query, seconds=seconds):
        is_its_own = event.body.get("runId") == run["id"]
        if event.name == "run.retrying" and is_its_own:
            troubles.tell(event.body["data"] | event.body["data"]["error"])
        elif event.name in _OPENINGS or (event.name in _SETTLING and is_its_own):
            run = read_run(client, run["id"])
            if has_settled(run):
                return run
            _tell_last(run, troubles)
    return read_run(client, run["id"])


def _polled(client: Client, run_id: str, troubles: Troubles, deadline: float) -> Run:
    while True:
        poll = max(0, min(_POLL_SECONDS, ceil(deadline - elapsed_seconds())))
        client.get(f"/api/runs/{segment(run_id)}/wait", {"timeoutSeconds": poll}, timeout_seconds=poll + _SLACK_SECONDS)
        run = read_run(client, run_id)
        if has_settled(run) or elapsed_seconds() >= deadline:
            return run
        _tell_last(run, troubles)


def _tell_last(run: Run, troubles: Troubles) -> None:
    if run.get("lastFault"):
        troubles.tell(run["lastFault"] | {"attemptsMax": run["attemptsMax"]})


def has_settled(run: Run) -> bool:
    """Tell whether the run has ended or waits for a person."""
    return run["state"] in _ENDED or run["state"] == "waiting"


def wait_and_show(client: Client, run_id: str, screen: Screen, *, seconds: float) -> int:
    """Wait for a run, show its result and return the exit code."""
    run = wait_for(client, run_id, screen, seconds=seconds)
    if screen.as_json:
        screen.json({"run": run})
    return show_result(run, screen, with_reply=not screen.as_json)


def show_result(run: Run, screen: Screen, *, with_reply: bool = True) -> int:
    """Show a run's result and return the exit code; only the reply goes to stdout."""
    state = run["state"]
    if state == "completed":
        if with_reply:
            screen.line(run.get("reply") or "")
        return Exit.OK
    if state == "waiting":
        if with_reply:
            screen.line(question_of(run))
        if run.get("waitingFor") != "tool_output":
            how = "yes|no" if run.get("waitingFor") == "approval" else "TEXT"
            screen.note(f"To answer: `carrel runs answer {run['id']} {how}`")
        return Exit.OK
    if state in _ENDED:
        screen.note(f"The run {'failed' if state == 'failed' else 'was cancelled'}: {why_ended(run)}")
        return Exit.FAILED
    screen.note(f"No reply yet ({state}). To keep waiting: `carrel runs wait {run['id']}`")
    return Exit.TIMED_OUT


def question_of(run: Run) -> str:
    """Return what a waiting run needs, from a person or from a program."""
    question = run.get("reply") or run.get("note") or "no question was given"
    if run.get("waitingFor") == "tool_output":
        return f"Waiting for a program: {question}"
    return f"Waiting for your {run.get('waitingFor') or 'input'}: {question}"


def why_ended(run: Run) -> str:
    """Return why a run failed or was cancelled, in a few words."""
    error = run.get("error") or {}
    words = error.get("message") or run.get("note") or run.get("reason") or "no reason was given"
    return f"{words} (details: `carrel runs why {run['id']}`)" if run["state"] == "failed" else str(words)


def answer_run(client: Client, run: Run, text: str) -> Run:
    """Answer a waiting run; for an approval, yes and no mean just that."""
    answered: Run = client.post(f"/api/runs/{segment(run['id'])}/answer", answer_body(run, text))["run"]
    return answered


def answer_body(run: Run, text: str) -> dict[str, object]:
    """Return what answers a run; for an approval, yes and no mean just that, and anything else is a no with reasons."""
    if run.get("waitingFor") != "approval":
        return {"text": text}
    word = text.strip().lower()
    approve = word in ("y", "yes", "ok", "approve")
    return {"approve": approve} if approve or word in ("n", "no", "deny") else {"approve": False, "text": text}
