"""The gateway to coding agents that run as programs: a step begins or continues a turn of one.

Each session has its own program, so that sessions cannot affect one another. Everything in memory may be lost at any
time: the next step is read from its body and from the session that the agent keeps.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from carrel.gateway.acp import events
from carrel.gateway.acp.actions import NO_RESULT, permission_id
from carrel.gateway.acp.faults import AcpFaults
from carrel.gateway.acp.message import AcpMessage, message_blocks, prompt_of, read_step
from carrel.gateway.answers import BETWEEN_MESSAGES, build_answer, whole_characters
from carrel.gateway.items import call_item, incomplete, message_item, read_not_sent, text_part
from carrel.gateway.model import (
    AgentGateway,
    GatewayFault,
    Item,
    OnAction,
    OnSend,
    OnText,
    Step,
    StepAnswer,
    keep_nothing,
    show_nothing,
)
from carrel.kernel import elapsed_seconds
from carrel.kernel.limits import ACP_ANSWER_CHARS_MAX, ACP_PROGRAMS_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.programs import Program, ProgramFault, missing_variable, program_of
from carrel.workspaces import make_workspace

if TYPE_CHECKING:
    from carrel.gateway.acp.session import AgentSession

_NOTHING_SAID = "[The coding agent ended its turn without a message.]"
_CUT_SHORT = {"max_tokens": "max_output_tokens", "max_turn_requests": "max_turn_requests"}
# Starts a task that lives as long as the server process.
Start = Callable[[Coroutine[Any, Any, None]], None]


class AcpGateway(AgentGateway):
    """Takes steps at coding agents that the command of the settings starts."""

    translates = True
    takes_context = False

    def __init__(
        self, name: str, settings: GatewaySettings, start: Start, env: Mapping[str, str] = os.environ, *,
        programs_max: int = ACP_PROGRAMS_MAX,
    ) -> None:  # fmt: skip
        self.name = name
        self._programs_max = programs_max
        self._settings = settings
        self._start = start
        self._env = env
        self._faults = AcpFaults(name)
        self._sessions: dict[str, AgentSession] = {}
        self._is_closed = False
        # Why no program could be started; None since one was.
        self._last_fault: GatewayFault | None = None

    async def take(
        self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing, on_action: OnAction = show_nothing
    ) -> StepAnswer:  # fmt: skip
        """Return the agent's answer to the step; cancelling also cancels its turn."""
        message = read_step(step)
        if not self._settings.serves(step.account):
            raise self._faults.of_account()
        session = await self._session(step, message)
        session.is_taken = True
        try:
            return await self._bounded(_Turn(session, message, self._faults, on_text, on_send, on_action))
        finally:
            session.is_taken, session.used_at = False, elapsed_seconds()
            if self._is_closed:
                session.stop("The settings of its gateway were changed.")

    async def check(self) -> None:
        """Raise GatewayFault unless the command exists and worked when it was last started."""
        self._program(None)
        if self._last_fault is not None:
            raise self._last_fault

    async def introduce(self) -> str:
        """Start the agent, ask for its name, and end it; return the name, or raise GatewayFault."""
        program = self._program(None)
        try:
            handshake = await asyncio.to_thread(import_module, "carrel.gateway.acp.handshake")
            return str(await handshake.introduce(program, self._settings.start_seconds))
        except ProgramFault as fault:
            raise self._faults.of_start(str(fault)) from fault

    async def close(self) -> None:
        """End all programs and wait until they have ended."""
        self.retire()
        for session in self._sessions.values():
            session.stop("Carrel was stopped.")
        for session in list(self._sessions.values()):
            await session.gone.wait()

    def retire(self) -> None:
        """End idle programs now, and the others after their turn, because the settings have changed."""
        self._is_closed = True
        for session in self._sessions.values():
            if not session.is_taken:
                session.stop("The settings of its gateway were changed.")

    async def _session(self, step: Step, message: AcpMessage) -> "AgentSession":
        """Return the running session of a step, starting it if needed; raise GatewayFault if that fails."""
        known = self._sessions.get(message.key)
        if known is not None and not known.over.is_set():
            known.allow(step.callable_tools)
            return known
        if known is not None:
            # Never two programs in one session.
            await known.gone.wait()
        program = self._program(await self._workspace(step))
        # It imports the SDK, which is slow.
        code = await asyncio.to_thread(import_module, "carrel.gateway.acp.session")
        self._make_room()
        session: AgentSession = code.AgentSession(
            program, step.workspace, remote_id=step.remote_id, start_seconds=self._settings.start_seconds,
            start=self._start,
        )  # fmt: skip
        self._sessions[message.key] = session
        self._start(session.live())
        await session.settled.wait()
        if session.over.is_set():
            of_start = self._faults.of_login if session.needs_login else self._faults.of_start
            self._last_fault = of_start(session.why_over)
            raise self._last_fault
        self._last_fault = None
        session.allow(step.callable_tools)
        return session

    async def _workspace(self, step: Step) -> str:
        assert step.workspace is not None, "a run has a workspace"
        try:
            return await asyncio.to_thread(make_workspace, step.workspace)
        except (OSError, ValueError) as error:
            raise self._faults.of_settings(f"The workspace of the agent cannot be made: {error}.") from error

    def _make_room(self) -> None:
        """End the program that has been idle longest if there are too many; one with an open question last."""
        for key in [key for key, one in self._sessions.items() if one.gone.is_set()]:
            del self._sessions[key]
        alive = [one for one in self._sessions.values() if not one.over.is_set()]
        if len(alive) < self._programs_max:
            return
        idle = [one for one in alive if not one.is_taken]
        if not idle:
            raise self._faults.of_full(self._programs_max)
        min(idle, key=lambda one: (one.pending is not None, one.used_at)).stop("Another session needed its slot.")

    def _program(self, cwd: str | None) -> Program:
        settings = self._settings
        if missing := missing_variable(settings.env, self._env):
            setting = f"gateway.{self.name}.env"
            raise self._faults.of_settings(f"{setting} names the environment variable {missing}, which is not set.")
        program = program_of(settings.command, settings.args, settings.env, self._env, cwd)
        if shutil.which(settings.command, path=program.env.get("PATH")) is None:
            raise self._faults.of_command(settings.command)
        return program

    async def _bounded(self, turn: "_Turn") -> StepAnswer:
        seconds = self._settings.timeout_seconds
        bound = asyncio.timeout(seconds)
        try:
            async with bound:
                return await turn.take()
        except TimeoutError:
            await turn.give_up()
            if not bound.expired():
                raise
            await turn.tell_unfinished("Its turn was ended: it took too long.")
            raise self._faults.of_timeout(seconds) from None
        except BaseException:
            await turn.give_up()
            raise


class _Turn:
    def __init__(
        self, session: "AgentSession", message: AcpMessage, faults: AcpFaults, on_text: OnText, on_send: OnSend,
        on_action: OnAction,
    ) -> None:  # fmt: skip
        self._session = session
        self._message = message
        self._faults = faults
        self._on_send = on_send
        self._on_action = on_action
        self._reply = _Reply(on_text, session.name, faults)
        self._has_acted = False
        self._left_out: tuple[str, ...] = ()
        # An action that a person allowed after its turn ended; it need not be asked again.
        self._granted: tuple[str, str] | None = None

    async def take(self) -> StepAnswer:
        """Send the agent what is new, and follow its turn to the end or to a question."""
        later = await self._begin()
        while True:
            answer = await self._follow(await self._session.next_event())
            if answer is not None and later:
                # Messages that arrived while the question was open.
                await self._prompt(later)
                later = []
            elif answer is not None:
                return structs.replace(answer, left_out=self._left_out)

    async def _begin(self) -> list[Item]:
        """Continue the turn whose question was answered, or begin one; return what to send after it."""
        session, message = self._session, self._message
        decision, pending = message.decision, session.pending
        if decision is not None and pending is not None and pending.call_id == decision.call_id:
            await self._on_send(_body(session.remote_id, decision=decision.is_allowed))
            session.decide(is_allowed=decision.is_allowed)
            return message_blocks(message, session.takes) if message.is_later else []
        # A turn that waits for an answer ends when a new message arrives.
        await session.cancel()
        self._granted = message.granted
        await self._prompt(prompt_of(message, session.takes, is_new=session.is_new))
        return []

    async def _prompt(self, blocks: list[Item]) -> None:
        session = self._session
        await self._on_send(_body(session.remote_id, prompt=blocks))
        names = (read_not_sent(block["text"]) for block in blocks if block["type"] == "text")
        self._left_out += tuple(name for name in names if name is not None)
        session.is_new = False
        session.prompt(blocks)

    async def _follow(self, event: events.Event) -> StepAnswer | None:
        match event:
            case events.TextEvent(text=text):
                self._has_acted = True
                self._reply.say(text)
            case events.ActionEvent(actions=actions):
                self._has_acted = True
                self._reply.pause()
                for action in actions:
                    await self._on_action(action)
            case events.PermissionRequest() if self._granted == event.about:
                self._granted = None
                event.decide(True)
            case events.PermissionRequest():
                event.call_id = self._reply.ask(event, self._message.asked)
                self._session.pending = event
                return self._reply.answer()
            case events.EndEvent(reason=reason):
                await self.tell_unfinished()
                return self._reply.end(reason)
            case events.FailureEvent(why=why, is_login=is_login):
                await self.tell_unfinished(why)
                if is_login:
                    raise self._faults.of_login(why)
                raise self._faults.of_agent("agent_failed", "failed", why, retryable=not self._has_acted)
            case events.ExitEvent():
                await self.tell_unfinished("The program ended.")
                raise self._faults.of_agent(
                    "agent_died", "ended during its turn", self._session.why_over, retryable=not self._session.is_bad
                )
        return None

    async def tell_unfinished(self, why: str = NO_RESULT) -> None:
        """Report that the results of actions in progress will never be known."""
        for action in self._session.actions.unfinished(why):
            await self._on_action(action)

    async def give_up(self) -> None:
        """Cancel the turn because nobody waits for it any more."""
        with suppress(GatewayFault):
            await self._session.cancel()


class _Reply:
    """The reply of an agent as it arrives. Text after an action starts a new paragraph."""

    def __init__(self, on_text: OnText, name: str, faults: AcpFaults) -> None:
        self._on_text = on_text
        self._name = name
        self._faults = faults
        self._pieces: list[str] = []
        self._chars = 0
        self._is_paused = False
        self._items: list[Item] = []

    def say(self, text: str) -> None:
        """Add a piece; raise GatewayFault if the reply gets too long."""
        text = whole_characters(text)
        if self._is_paused and self._pieces and text:
            text = BETWEEN_MESSAGES + text.lstrip("\n")
        self._is_paused = self._is_paused and not text
        self._chars += len(text)
        if self._chars > ACP_ANSWER_CHARS_MAX:
            what = f"was ended: its reply has more than {ACP_ANSWER_CHARS_MAX} characters"
            raise self._faults.of_agent("gateway_unreadable", what)
        if text:
            self._pieces.append(text)
            self._on_text(text)

    def pause(self) -> None:
        """Note an action, so that the next text starts a new paragraph."""
        self._is_paused = True

    def ask(self, asked: events.PermissionRequest, count: int) -> str:
        """End with a permission request instead; return the id of its call."""
        call_id = permission_id(count, asked.tool_call_id)
        self._items = [call_item(call_id, *asked.about)]
        return call_id

    def end(self, reason: str) -> StepAnswer:
        """Return the answer of a turn that ended for this reason; raise GatewayFault if that means it failed."""
        if reason == "refusal":
            raise self._faults.of_refusal("".join(self._pieces))
        if reason == "cancelled":
            raise self._faults.of_agent("agent_cancelled", "cancelled its turn")
        if not "".join(self._pieces).strip():
            self._pieces = [_NOTHING_SAID] if self._is_paused else []
        return self.answer(_CUT_SHORT.get(reason))

    def answer(self, cut_short: str | None = None) -> StepAnswer:
        text = "".join(self._pieces)
        output = [*([message_item(text_part(text))] if text else []), *self._items]
        return build_answer(output, {"model": self._name} | incomplete(cut_short), seed="", faults=self._faults)


def _body(remote_id: str, **said: Any) -> bytes:
    return msgspec.json.encode({"sessionId": remote_id, **said})
