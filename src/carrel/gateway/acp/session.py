"""One run of a coding agent's program, with its session and its current turn.

Importing this module imports the SDK, which is slow; import it only to start an agent.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from pydantic import ValidationError

from carrel.gateway.acp import events
from carrel.gateway.acp.actions import ACT_KINDS, EDIT, READ, AgentActions
from carrel.gateway.acp.handshake import initialize, name_of_agent
from carrel.gateway.acp.lines import Lines
from carrel.gateway.acp.message import Capabilities
from carrel.gateway.model import AgentAction, Item
from carrel.kernel import elapsed_seconds, limits
from carrel.programs import Program, ProgramFault, start_program
from carrel.workspaces import NotInWorkspace, Workspace, read_text, write_text

T = TypeVar("T")
_NEEDS_LOGIN = -32000
Start = Callable[[Coroutine[Any, Any, None]], None]


class AgentSession:
    """A program with one session. `settled` is set once it is ready or has failed, `over` when it ends.

    `remote_id` is the session at the agent, `is_new` unless it was loaded. `fault` says why it ended.
    """

    def __init__(
        self, program: Program, workspace: Workspace, *, remote_id: str, start_seconds: int, start: Start
    ) -> None:  # fmt: skip
        self._program = program
        self._files = Files(workspace)
        self._start_seconds = start_seconds
        self._start = start
        self.remote_id = remote_id
        self.is_new = True
        self.name = ""
        self.takes = Capabilities()
        self.fault = ""
        self.needs_login = False
        self.settled = asyncio.Event()
        self.over = asyncio.Event()
        # Set when the program and everything it started have ended.
        self.gone = asyncio.Event()
        self.is_taken = False
        self.used_at = elapsed_seconds()
        self.actions = AgentActions()
        # A question that was passed on and has no answer yet.
        self.pending: events.PermissionRequest | None = None
        self.is_prompting = False
        self._asked: list[events.PermissionRequest] = []
        self._events: deque[events.Event] = deque()
        self._news = asyncio.Event()
        self._lines: Lines | None = None
        self._connection: Connection | None = None
        self._requests = 0

    async def live(self) -> None:
        """Run from start to end. No error of the agent gets out of here."""
        try:
            program = await start_program(self._program, limits.ACP_MESSAGE_BYTES_MAX)
        except ProgramFault as fault:
            self.stop(str(fault))
            self.gone.set()
            return
        try:
            async with asyncio.TaskGroup() as group:
                errors = group.create_task(program.keep_errors())
                self._lines = Lines(program, self._hear, self.over)
                self._connection = Connection(self._answer, self._lines)
                opening = group.create_task(self._get_ready(self._connection))
                try:
                    await self._until_idle()
                finally:
                    self.stop("It was ended.")
                    opening.cancel()
                    errors.cancel()
                    await self._connection.close()
        finally:
            await program.end()
            self.gone.set()

    async def _get_ready(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(self._start_seconds):
                await self._open(connection)
            self.settled.set()
        except TimeoutError:
            self.stop(f"It did not get ready within {self._start_seconds} seconds.")
        except RequestError as error:
            self.needs_login = error.code == _NEEDS_LOGIN
            self.stop(f"It refused to start a session: {_said(error)}")
        except ValidationError:
            self.stop("It does not speak the Agent Client Protocol.")
        except ConnectionError:
            # Whoever read its output to the end knows why.
            self.stop("It closed the connection.")
        except ProgramFault as fault:
            self.stop(str(fault))

    async def _open(self, connection: Connection) -> None:
        """Introduce ourselves, and load the earlier session if the agent supports that and has it; else begin one."""
        initialized = await initialize(connection)
        able = initialized.agent_capabilities
        prompt = able.prompt_capabilities if able is not None else None
        if prompt is not None:
            self.takes = Capabilities(images=bool(prompt.image), resources=bool(prompt.embedded_context))
        self.name = name_of_agent(initialized)
        where: Item = {"cwd": self._program.cwd, "mcpServers": []}
        if self.remote_id and able is not None and able.load_session:
            with suppress(RequestError):
                await connection.send_request("session/load", {"sessionId": self.remote_id, **where})
                self.is_new = False
                return
        begun = schema.NewSessionResponse.model_validate(await connection.send_request("session/new", where))
        self.remote_id = begun.session_id

    async def _until_idle(self) -> None:
        while not self.over.is_set():
            left = limits.ACP_IDLE_SECONDS - (elapsed_seconds() - self.used_at)
            if left <= 0 and not self.is_taken:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(left, 1)):
                    await self.over.wait()

    def stop(self, why: str) -> None:
        self.fault = self.fault or why
        self.is_prompting = False
        self.over.set()
        self.settled.set()
        self._news.set()

    @property
    def why_over(self) -> str:
        return str(self._lines.fault) if self._lines is not None and self._lines.fault else self.fault

    @property
    def is_bad(self) -> bool:
        """Whether it was ended for what it sent; it would send that again."""
        return self._lines is not None and self._lines.is_bad

    def allow(self, names: frozenset[str]) -> None:
        """Let it do these kinds of actions from now on without asking."""
        self._files.allowed = names

    # What it is sent

    def prompt(self, blocks: list[Item]) -> None:
        """Begin a turn; its results arrive as events."""
        self.actions, self.pending, self.is_prompting = AgentActions(), None, True
        self._events.clear()
        self._start(self._prompt(blocks))

    async def _prompt(self, blocks: list[Item]) -> None:
        assert self._connection is not None, "a turn begins in a session"
        try:
            said = {"sessionId": self.remote_id, "prompt": blocks}
            response = schema.PromptResponse.model_validate(await self._connection.send_request("session/prompt", said))
            self._put(events.EndEvent(response.stop_reason))
        except RequestError as error:
            self._put(events.FailureEvent(_said(error), is_login=error.code == _NEEDS_LOGIN))
        except ValidationError:
            self._put(events.FailureEvent("it ended its turn without a reason that the protocol knows"))
        except ConnectionError:
            self._news.set()
        finally:
            self.is_prompting = False

    def decide(self, *, is_allowed: bool) -> None:
        assert self.pending is not None, "there is a question"
        pending, self.pending = self.pending, None
        pending.decide(is_allowed)

    async def cancel(self) -> None:
        """Cancel the current turn; end the program if it does not stop."""
        self.pending = None
        if not self.is_prompting or self._connection is None:
            return
        for asked in self._asked:
            asked.decide(None)
        try:
            async with asyncio.timeout(limits.ACP_CANCEL_SECONDS):
                await self._connection.send_notification("session/cancel", {"sessionId": self.remote_id})
                await self._until_stopped()
        except (TimeoutError, ConnectionError):
            self.stop("It did not stop when its turn was cancelled.")
        except asyncio.CancelledError:
            self.stop("It was ended with its turn.")
            raise

    async def _until_stopped(self) -> None:
        while self.is_prompting and not self.over.is_set():
            if isinstance(event := await self.next_event(), events.PermissionRequest):
                event.decide(None)

    # What it sends

    async def next_event(self) -> events.Event:
        while not self._events:
            if self.over.is_set():
                return events.ExitEvent()
            if self._lines is not None:
                self._lines.dealt_with()
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()

    def _put(self, event: events.Event) -> None:
        self._events.append(event)
        self._news.set()

    def _hear(self, params: Any) -> bool:
        """Take an update; those outside a turn, for example while a session is loaded, are ignored."""
        if not self.is_prompting:
            return False
        try:
            update = schema.SessionNotification.model_validate(params).update
        except ValidationError:
            return False
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._put(events.TextEvent(text))
            case schema.ToolCallStart() | schema.ToolCallProgress():
                return self._did(*self.actions.apply(update))
            case schema.AgentPlanUpdate():
                return self._did(*self.actions.plan(update))
            case _:
                return False
        return True

    def _did(self, *actions: AgentAction) -> bool:
        if actions:
            self._put(events.ActionEvent(actions))
        return bool(actions)

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Item | None:
        """Answer a request of the agent; the SDK sends what is returned or raised."""
        if is_notification:
            return None
        if self._requests >= limits.ACP_REQUESTS_AT_ONCE_MAX:
            raise RequestError.internal_error({"details": "Too many requests at once."})
        self._requests += 1
        try:
            return await self._answer_one(method, params)
        finally:
            self._requests -= 1

    async def _answer_one(self, method: str, params: Any) -> Item | None:
        match method:
            case "session/request_permission":
                return await self._ask(schema.RequestPermissionRequest.model_validate(params))
            case "fs/read_text_file":
                reading = schema.ReadTextFileRequest.model_validate(params)
                self._require_turn(reading.session_id)
                return {"content": await self._files.read(reading.path, reading.line, reading.limit)}
            case "fs/write_text_file":
                writing = schema.WriteTextFileRequest.model_validate(params)
                self._require_turn(writing.session_id)
                await self._files.write(writing.path, writing.content)
                return {}
        raise RequestError.method_not_found(method)

    def _require_turn(self, remote_id: str) -> None:
        if remote_id != self.remote_id or not self.is_prompting:
            raise RequestError.invalid_request({"details": "There is no turn in this session."})

    async def _ask(self, request: schema.RequestPermissionRequest) -> Item:
        self._require_turn(request.session_id)
        asked = events.PermissionRequest(request.tool_call.tool_call_id, self.actions.known(request.tool_call))
        self._asked.append(asked)
        self._put(asked)
        try:
            is_allowed = await asked.decision
        finally:
            self._asked.remove(asked)
        option = None if is_allowed is None else _option(request.options, is_allowed=is_allowed)
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        return {"outcome": outcome}


def _option(options: list[schema.PermissionOption], *, is_allowed: bool) -> str | None:
    """Return the option for this decision, for this time rather than for ever."""
    kinds = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    return next((one.option_id for kind in kinds for one in options if one.kind == kind), None)


def _said(error: RequestError) -> str:
    """Return the message of an agent's error."""
    details = error.data.get("details") if isinstance(error.data, dict) else error.data
    return f"{error}: {details}" if isinstance(details, str) and details else str(error)


class Files:
    """The text files of a workspace; `allowed` names the actions that the agent may do now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.allowed: frozenset[str] = frozenset()

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return a file, or `limit` of its lines from `line` on (counted from 1); raise RequestError."""
        text = await self._allowed(READ, read_text, path)
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        lines = text.splitlines(keepends=True)
        return "".join(lines[first:] if limit is None else lines[first : first + max(limit, 0)])

    async def write(self, path: str, text: str) -> None:
        await self._allowed(EDIT, write_text, path, text)

    async def _allowed(self, name: str, act: Callable[..., T], path: str, *content: str) -> T:
        if name not in self.allowed:
            message = f"This run may not {ACT_KINDS[name].does}: its agent may not use {name}, or it is in plan mode."
            raise RequestError.invalid_request({"details": message})
        try:
            return await asyncio.to_thread(act, self._workspace, path, *content, limits.ACP_FILE_BYTES_MAX)
        except NotInWorkspace as fault:
            raise RequestError.invalid_params({"details": str(fault)}) from fault
