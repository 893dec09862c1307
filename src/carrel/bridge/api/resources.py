"""Operations on runs, their artifacts, sessions and tasks."""

from collections.abc import Sequence

from carrel.bridge.api import shapes
from carrel.bridge.api.operations import D_co, Group, operation, path_of
from carrel.bridge.api.requests import Request
from carrel.bridge.api.shapes import Item, Page, Run, Session, Task, read
from carrel.bridge.api.wait import OnFault, read_run, wait_for_run

WAIT_SECONDS = 600.0


def is_session(target: str) -> bool:
    """Return whether a target is a session; an agent's id has no colon and does not look like a session id."""
    return ":" in target or target.startswith(("ses_", "node-"))


def lane_of(target: str | None) -> str:
    """Return the session that a message to this target is for."""
    if target is None:
        return "main"
    return target if is_session(target) else f"agent:{target}:main"


class Runs(Group[D_co]):
    """The runs that the token may see."""

    @operation
    async def get(self, run_id: str) -> Run:
        """Return a run."""
        return await read_run(self.driver, run_id)

    @operation
    async def list(
        self, *, session_key: str | None = None, agent_id: str | None = None, task_id: str | None = None,
        goal_id: str | None = None, state: str | None = None, waiting_for: str | None = None, limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Run]:  # fmt: skip
        """Return runs, newest first; `waiting_for` is person or program."""
        query: Item = {"sessionKey": session_key, "agentId": agent_id, "taskId": task_id, "goalId": goal_id}
        query |= {"state": state, "waitingFor": waiting_for, "limit": limit, "cursor": cursor}
        return await self.page(Run, "/api/runs", "runs", query)

    @operation
    async def wait(self, run_id: str, timeout_seconds: float = WAIT_SECONDS, *, on_fault: OnFault | None = None) -> Run:
        """Return a run once it has ended or waits for somebody; `TimedOut` when it takes longer.

        `on_fault` is called with every attempt that fails meanwhile and will be repeated.
        """
        return await wait_for_run(self.driver, run_id, timeout_seconds, on_fault)

    @operation
    async def answer(self, run_id: str, text: str) -> Run:
        """Answer the question of a waiting run; it continues in its lane."""
        return await self._answered(run_id, {"text": text})

    @operation
    async def approve(self, run_id: str, text: str = "") -> Run:
        """Approve the tool call that a run waits for."""
        return await self._answered(run_id, {"approve": True} | ({"text": text} if text else {}))

    @operation
    async def deny(self, run_id: str, text: str = "") -> Run:
        """Refuse the tool call that a run waits for; the text says why."""
        return await self._answered(run_id, {"approve": False} | ({"text": text} if text else {}))

    @operation
    async def steer(self, run_id: str, message: str) -> Run:
        """Send a message into a run that is at work; return the message's own run, which ends when it is heard."""
        return await self._next(run_id, "steer", {"message": message})

    @operation
    async def cancel(self, run_id: str) -> Run:
        """Cancel a run that has not ended."""
        return await self.one(Run, "POST", path_of("runs", run_id, "cancel"), "run", body={})

    @operation
    async def retry(self, run_id: str, *, idempotency_key: str = "") -> Run:
        """Send the message of a failed run again; return the new run, in the same lane."""
        return await self._next(run_id, "retry", {}, idempotency_key)

    @operation
    async def why(self, run_id: str) -> shapes.Why:
        """Explain why a run is in its state, and what can be done about it."""
        return await self.one(shapes.Why, "GET", path_of("runs", run_id, "why"))

    @operation
    async def receipt(self, run_id: str, *, body: bool = False) -> shapes.Receipt:
        """Return exactly what the agent was sent; with `body`, the bytes of each request as text."""
        return await self.one(shapes.Receipt, "GET", path_of("runs", run_id, "receipt"), query={"body": body})

    async def _answered(self, run_id: str, body: Item) -> Run:
        return await self.one(Run, "POST", path_of("runs", run_id, "answer"), "run", body=body)

    async def _next(self, run_id: str, verb: str, body: Item, idempotency_key: str = "") -> Run:
        """Make a request that begins another run, and return that run."""
        request = Request("POST", path_of("runs", run_id, verb), body=body, idempotency_key=idempotency_key)
        return await read_run(self.driver, (await self.driver.exchange(request))["runId"])


class Artifacts(Group[D_co]):
    """What agents added to the runs that the token may see."""

    @operation
    async def list(self, run_id: str) -> Page[shapes.Artifact]:
        """Return the artifacts of a run, in the order in which they were added."""
        return await self.page(shapes.Artifact, path_of("runs", run_id, "artifacts"), "artifacts")

    @operation
    async def content(self, artifact_id: str) -> bytes:
        """Return the content of an artifact."""
        request = Request("GET", path_of("artifacts", artifact_id, "content"), wants_bytes=True)
        content: bytes = await self.driver.exchange(request)
        return content


class Sessions(Group[D_co]):
    """The sessions that the token may see; each is named by its key, or by the id of a generation."""

    @operation
    async def list(
        self, *, q: str | None = None, agent_id: str | None = None, task_id: str | None = None,
        channel: str | None = None, state: str | None = None, archived: bool = False,
        pinned: bool = False, limit: int = 50, cursor: str | None = None,
    ) -> Page[Session]:  # fmt: skip
        """Return sessions, the most recently used first; `q` is searched in keys and names."""
        query: Item = {"q": q, "agentId": agent_id, "taskId": task_id, "channel": channel, "state": state}
        query |= {"archived": archived, "pinned": pinned, "limit": limit, "cursor": cursor}
        return await self.page(Session, "/api/sessions", "sessions", query)

    @operation
    async def get(self, key: str) -> Session:
        """Return a session: the generation that is named, else the open one, else the newest."""
        return await self.one(Session, "GET", path_of("sessions", key), "session")

    @operation
    async def history(
        self, key: str, *, limit: int = 200, include_tools: bool = False, cursor: str | None = None
    ) -> shapes.History:
        """Return the newest messages of a session, oldest first."""
        query = {"limit": limit, "includeTools": include_tools, "cursor": cursor}
        return await self.one(shapes.History, "GET", path_of("sessions", key, "history"), query=query)

    @operation
    async def reset(self, key: str) -> shapes.Reset:
        """Close the open generation; the next message opens the next one."""
        return await self.one(shapes.Reset, "POST", path_of("sessions", key, "reset"), body={})

    @operation
    async def rename(self, key: str, title: str | None) -> Session:
        """Give a session a name; None brings back its automatic title."""
        return await self.one(Session, "PATCH", path_of("sessions", key), "session", body={"title": title})

    @operation
    async def archive(self, key: str) -> Session:
        """Archive a session."""
        return await self.one(Session, "POST", path_of("sessions", key, "archive"), "session", body={})

    @operation
    async def unarchive(self, key: str) -> shapes.Restored:
        """Bring an archived session back; `reopened` is False if its conversation was closed for good."""
        answer = await self.driver.exchange(Request("POST", path_of("sessions", key, "unarchive"), body={}))
        return read(shapes.Restored, answer["session"] | {"reopened": answer["reopened"]})

    @operation
    async def delete(self, key: str) -> None:
        """Delete a session with its transcript."""
        await self.driver.exchange(Request("DELETE", path_of("sessions", key)))


class Tasks(Group[D_co]):
    """The tasks that the token may see."""

    @operation
    async def create(
        self, title: str, *, description: str = "", topic_id: str | None = None, priority: int | str = 3,
        tags: Sequence[str] = (), assigned_agent_ids: Sequence[str] = (), idempotency_key: str = "",
    ) -> Task:  # fmt: skip
        """Create a task; with an idempotency key it is safe to do it twice."""
        body: Item = {"title": title, "description": description, "topicId": topic_id, "priority": priority}
        body |= {"tags": list(tags), "assignedAgentIds": list(assigned_agent_ids)}
        return await self.one(Task, "POST", "/api/tasks", "task", body=body, idempotency_key=idempotency_key)

    @operation
    async def get(self, task_id: str) -> Task:
        """Return a task."""
        return await self.one(Task, "GET", path_of("tasks", task_id), "task")

    @operation
    async def list(
        self, *, status: str | None = None, topic_id: str | None = None, assignee_id: str | None = None,
        limit: int = 100, cursor: str | None = None,
    ) -> Page[Task]:  # fmt: skip
        """Return tasks, as the board orders them."""
        query = {"status": status, "topicId": topic_id, "assigneeId": assignee_id, "limit": limit, "cursor": cursor}
        return await self.page(Task, "/api/tasks", "tasks", query)


class Accepted(Group[D_co]):
    """A message that was accepted: the server keeps it from now on, and its run starts when the lane is free."""

    def __init__(self, driver: D_co, run_id: str, session_key: str, raw: Item) -> None:
        super().__init__(driver)
        self.run_id = run_id
        self.session_key = session_key
        self.raw = raw

    def __repr__(self) -> str:
        return f"Accepted(run_id={self.run_id!r}, session_key={self.session_key!r})"

    @operation
    async def wait(self, timeout_seconds: float = WAIT_SECONDS, *, on_fault: OnFault | None = None) -> Run:
        """Return the run once it has ended or waits for somebody; `TimedOut` when it takes longer."""
        return await wait_for_run(self.driver, self.run_id, timeout_seconds, on_fault)
