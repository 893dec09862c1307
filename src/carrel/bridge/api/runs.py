"""Operations on runs: send a message, wait for its reply, answer, cancel, retry, and read its receipt."""

from carrel.bridge.api.operations import Call, D, Group, operation
from carrel.bridge.api.requests import Request, segment
from carrel.bridge.api.shapes import Artifact, Item, Page, Receipt, Run, Why, read, read_page
from carrel.bridge.api.wait import OnFault, read_run, run_path, wait_for_run

WAIT_SECONDS = 600.0


def is_session(target: str) -> bool:
    """Return whether a target is a session; an agent's id has no colon and does not look like a session id."""
    return ":" in target or target.startswith(("ses_", "node-"))


def lane_of(target: str | None) -> str:
    """Return the session that a message to this target is for."""
    if target is None:
        return "main"
    return target if is_session(target) else f"agent:{target}:main"


class Runs(Group[D]):
    """The runs that the token may see."""

    @operation
    def get(self, run_id: str) -> Call[Run]:
        """Return a run."""
        return read_run(run_id)

    @operation
    def list(
        self, *, session_key: str | None = None, agent_id: str | None = None, task_id: str | None = None,
        goal_id: str | None = None, state: str | None = None, waiting_for: str | None = None, limit: int = 50,
        cursor: str | None = None,
    ) -> Call[Page[Run]]:  # fmt: skip
        """Return runs, newest first; `waiting_for` is person or program."""
        query: Item = {"sessionKey": session_key, "agentId": agent_id, "taskId": task_id, "goalId": goal_id}
        query |= {"state": state, "waitingFor": waiting_for, "limit": limit, "cursor": cursor}
        return read_page(Run, (yield Request("GET", "/api/runs", query)), "runs")

    @operation
    def wait(
        self, run_id: str, timeout_seconds: float = WAIT_SECONDS, *, on_fault: OnFault | None = None
    ) -> Call[Run]:  # fmt: skip
        """Return a run once it has ended or waits for somebody; `TimedOut` when it takes longer.

        `on_fault` is called with every attempt that fails meanwhile and will be repeated.
        """
        return wait_for_run(run_id, timeout_seconds, on_fault)

    @operation
    def answer(self, run_id: str, text: str) -> Call[Run]:
        """Answer the question of a waiting run; it continues in its lane."""
        return _answer(run_id, {"text": text})

    @operation
    def approve(self, run_id: str, text: str = "") -> Call[Run]:
        """Approve the tool call that a run waits for."""
        return _answer(run_id, {"approve": True} | ({"text": text} if text else {}))

    @operation
    def deny(self, run_id: str, text: str = "") -> Call[Run]:
        """Refuse the tool call that a run waits for; the text says why."""
        return _answer(run_id, {"approve": False} | ({"text": text} if text else {}))

    @operation
    def steer(self, run_id: str, message: str) -> Call[Run]:
        """Send a message into a run that is at work; return the message's own run, which ends when it is heard."""
        sent = yield Request("POST", f"{run_path(run_id)}/steer", body={"message": message})
        return (yield from read_run(sent["runId"]))

    @operation
    def cancel(self, run_id: str) -> Call[Run]:
        """Cancel a run that has not ended."""
        return read(Run, (yield Request("POST", f"{run_path(run_id)}/cancel", body={}))["run"])

    @operation
    def retry(self, run_id: str, *, idempotency_key: str = "") -> Call[Run]:
        """Send the message of a failed run again; return the new run, in the same lane."""
        again = yield Request("POST", f"{run_path(run_id)}/retry", body={}, idempotency_key=idempotency_key)
        return (yield from read_run(again["runId"]))

    @operation
    def why(self, run_id: str) -> Call[Why]:
        """Explain why a run is in its state, and what can be done about it."""
        return read(Why, (yield Request("GET", f"{run_path(run_id)}/why")))

    @operation
    def receipt(self, run_id: str, *, body: bool = False) -> Call[Receipt]:
        """Return exactly what the agent was sent; with `body`, the bytes of each request as text."""
        return read(Receipt, (yield Request("GET", f"{run_path(run_id)}/receipt", {"body": body})))


class Artifacts(Group[D]):
    """What agents added to the runs that the token may see."""

    @operation
    def list(self, run_id: str) -> Call[Page[Artifact]]:
        """Return the artifacts of a run, in the order in which they were added."""
        return read_page(Artifact, (yield Request("GET", f"/api/runs/{segment(run_id)}/artifacts")), "artifacts")

    @operation
    def content(self, artifact_id: str) -> Call[bytes]:
        """Return the content of an artifact."""
        content: bytes = yield Request("GET", f"/api/artifacts/{segment(artifact_id)}/content", wants_bytes=True)
        return content


class Accepted(Group[D]):
    """A message that was accepted: the server keeps it from now on, and its run starts when the lane is free."""

    def __init__(self, driver: D, run_id: str, session_key: str, raw: Item) -> None:
        super().__init__(driver)
        self.run_id = run_id
        self.session_key = session_key
        self.raw = raw

    def __repr__(self) -> str:
        return f"Accepted(run_id={self.run_id!r}, session_key={self.session_key!r})"

    @operation
    def wait(self, timeout_seconds: float = WAIT_SECONDS, *, on_fault: OnFault | None = None) -> Call[Run]:
        """Return the run once it has ended or waits for somebody; `TimedOut` when it takes longer."""
        return wait_for_run(self.run_id, timeout_seconds, on_fault)


def _answer(run_id: str, body: Item) -> Call[Run]:
    return read(Run, (yield Request("POST", f"{run_path(run_id)}/answer", body=body))["run"])
