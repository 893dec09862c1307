"""A server of the settings: started when needed, and restarted after it died, with pauses and not for ever."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from importlib import import_module
from logging import INFO, WARNING, getLogger
from typing import TYPE_CHECKING, Any

from carrel.connectors.launch import address_of, launch_of
from carrel.connectors.model import CallFailed, CallResult, ConnectorState, RemoteTool, ToolList
from carrel.kernel import Clock, elapsed_seconds, limits
from carrel.kernel.settings import McpServerSettings
from carrel.programs import ProgramFault

if TYPE_CHECKING:
    from carrel.connectors.session import Session

_log = getLogger("carrel.connectors")
# Reasons why a server ends without a fault of its own.
_ENDED, _REPLACED = "It was ended.", "Its settings were changed."
# Starts a task that lives as long as the server process.
Start = Callable[[Coroutine[Any, Any, None]], None]


class Server:
    """One server. Its state is kept for people: since when it runs, what it offers, and what is wrong."""

    def __init__(
        self, name: str, settings: McpServerSettings, clock: Clock, start: Start, taken: Collection[str]
    ) -> None:  # fmt: skip
        self.name = name
        self.settings = settings
        self._clock = clock
        self._start = start
        self._taken = taken
        self._slots = asyncio.Semaphore(limits.MCP_CALLS_AT_ONCE_MAX)
        self.offered: ToolList | None = None
        self._left_out: tuple[str, ...] = ()
        # Tools that were listed as writing. A later claim that they only read is not believed.
        self._written: set[str] = set()
        self._life: _Run | None = None
        self._failures = 0
        self._again_at = 0.0
        self._listed_at = 0.0
        self._starts = 0
        self._fault: str | None = None
        self._since = clock.now_ms()

    def state(self) -> ConnectorState:
        running = self._life
        if running is not None and running.settled.is_set() and running.session is not None:
            status = "ok"
        elif running is not None:
            status = "starting"
        else:
            status = "failed" if self._fault else "idle"
        return ConnectorState(
            name=self.name,
            kind="command" if self.settings.command else "url",
            address=address_of(self.settings),
            accounts=self.settings.accounts,
            status=status,  # type: ignore[arg-type]
            since=self._since,
            tools=len(self.offered.tools) if self.offered else 0,
            starts=self._starts,
            left_out=self._left_out,
            last_error=self._fault,
        )

    async def tools(self) -> ToolList | None:
        """Return its tools, starting it if they are unknown; None if it cannot be started."""
        if self.offered is None:
            try:
                await self._ready()
            except ProgramFault:
                return None
        elif self._life is not None and self._life.is_stale:
            # Waits no longer than a listing takes; a server that does not answer keeps its earlier tools.
            with suppress(TimeoutError):
                async with asyncio.timeout(limits.MCP_LIST_PAUSE_SECONDS + self.settings.start_seconds):
                    await self._life.until_listed()
        return self.offered

    def known_tools(self) -> ToolList | None:
        """Return its tools; None if they are not known yet, or it has announced a change.

        The tools of a server that died are still offered: it is restarted for the call.
        """
        running = self._life
        if running is None or running.session is None:
            return self.offered
        if running.is_stale:
            return None
        if elapsed_seconds() - self._listed_at > limits.MCP_LIST_AGAIN_SECONDS:
            # Not every server announces changed tools. This run continues with the known ones.
            running.session.changed.set()
        return self.offered

    async def check(self) -> str | None:
        """List its tools anew, starting it if it does not run; return what is wrong, if anything."""
        starts, self._again_at = self._starts, 0.0
        try:
            running = await self._ready()
        except ProgramFault as fault:
            return str(fault)
        if self._starts == starts and running.session is not None:
            listed_at, seconds = self._listed_at, limits.MCP_LIST_PAUSE_SECONDS + self.settings.start_seconds
            running.session.changed.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await running.until_listed()
            if self._listed_at == listed_at:
                return self._fault or f"It did not list its tools within {seconds} seconds."
        return None

    async def call(self, tool: RemoteTool, arguments: dict[str, Any]) -> CallResult:
        """Call a tool by its offered name; raise CallFailed if there is no result."""
        sent_to: _Run | None = None
        try:
            async with asyncio.timeout(self.settings.timeout_seconds), self._slots:
                running = await self._ready()
                self._require_same(tool)
                assert running.session is not None, "ready"
                sent_to = running
                result = await running.session.call(tool.name, arguments)
        except ProgramFault as fault:
            raise CallFailed(str(fault), is_unknown=False) from fault
        except TimeoutError as error:
            await self._note_unanswered()
            message = f"It did not answer within {self.settings.timeout_seconds} seconds."
            raise CallFailed(message, is_unknown=sent_to is not None) from error
        except CallFailed as failure:
            if sent_to is None or not failure.is_unknown or not sent_to.is_over:
                raise
            # The reason for its end says more.
            await sent_to.ended.wait()
            raise CallFailed(self._fault or failure.message, is_unknown=True) from failure
        except Exception as error:  # boundary: whatever breaks between us and the server, the turn continues
            _log.warning("connector_call_failed", extra={"connector": self.name, "error": type(error).__name__})
            raise CallFailed("The connection broke during the call.", is_unknown=sent_to is not None) from error
        sent_to.unanswered = 0
        return result

    def end(self) -> None:
        if self._life is not None:
            self._life.stop(_REPLACED)

    def _require_same(self, tool: RemoteTool) -> None:
        present = next((one for one in self.offered.tools if one.name == tool.name), None) if self.offered else None
        if present is None or present.digest != tool.digest:
            gone = "no longer offers this tool" if present is None else "has changed this tool since it was offered"
            raise CallFailed(f"The server {gone}. Look at your tools in the next turn.", is_unknown=False)

    async def _note_unanswered(self) -> None:
        """After several unanswered calls, end the server: the next call gets a new one."""
        if running := self._life:
            running.unanswered += 1
            if running.unanswered >= limits.MCP_UNANSWERED_MAX:
                running.stop(f"It left {limits.MCP_UNANSWERED_MAX} calls in a row without an answer.")
                await running.ended.wait()

    async def _ready(self) -> "_Run":
        """Return the running server, started if needed; raise ProgramFault if it cannot be used now."""
        if self._life is not None and self._life.is_over:
            await self._life.ended.wait()
        if self._life is None:
            if (wait := self._again_at - elapsed_seconds()) > 0:
                raise ProgramFault(f"{self._fault} It is started again in {wait:.0f} seconds.")
            running = _Run()
            self._start(self._live(running))
            self._life = running
            self._starts += 1
        running = self._life
        await running.settled.wait()
        if running.session is None:
            raise ProgramFault(self._fault or _ENDED)
        return running

    async def _live(self, running: "_Run") -> None:
        """Run from start to end. No error of the server gets out of here."""
        fault = _ENDED
        began = elapsed_seconds()
        try:
            launch = launch_of(self.name, self.settings)
            # It imports the SDK, which is slow.
            code = await asyncio.to_thread(import_module, "carrel.connectors.session")
            async with code.open_session(self.name, self.settings, launch) as session:
                async with asyncio.timeout(self.settings.start_seconds):
                    await self._list(session)
                running.session = session
                self._settle(running)
                fault = await self._watch(running, session)
                # Reported at once, although the program may take a while to end.
                self._ended(running, fault, lived=elapsed_seconds() - began)
        except ProgramFault as error:
            fault = str(error)
        except TimeoutError:
            fault = f"It did not list its tools within {self.settings.start_seconds} seconds."
        except Exception as error:  # boundary: a broken server must not end the others
            _log.exception("connector_failed", extra={"connector": self.name})
            fault = f"It failed with {type(error).__name__}."
        finally:
            self._ended(running, fault, lived=elapsed_seconds() - began)

    def _settle(self, running: "_Run") -> None:
        self._fault, self._since = None, self._clock.now_ms()
        _log.info("connector_started", extra={"connector": self.name, "starts": self._starts})
        running.settled.set()

    def _ended(self, running: "_Run", fault: str, *, lived: float) -> None:
        if running.ended.is_set():
            return
        is_sound = running.session is not None and lived > limits.MCP_RESTART_SECONDS_MAX
        self._failures = 1 if is_sound else self._failures + 1
        pause = min(limits.MCP_RESTART_SECONDS * 2 ** (self._failures - 1), limits.MCP_RESTART_SECONDS_MAX)
        self._again_at = elapsed_seconds() + pause
        self._life, self._fault, self._since = None, fault, self._clock.now_ms()
        running.session = None
        running.settled.set()
        running.ended.set()
        level = INFO if fault in (_ENDED, _REPLACED) else WARNING
        _log.log(level, "connector_ended", extra={"connector": self.name, "reason": fault})

    async def _watch(self, running: "_Run", session: "Session") -> str:
        """Wait for the end and return its reason; list the tools again when they may have changed."""
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(session.until_ended())
            stopped = group.create_task(running.stopped.wait())
            listing = group.create_task(self._keep_listed(running, session))
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
            fault = running.stop_reason if stopped.done() else ended.result()
            for task in (ended, stopped, listing):
                task.cancel()
        return fault

    async def _keep_listed(self, running: "_Run", session: "Session") -> None:
        while True:
            await session.changed.wait()
            session.changed.clear()
            running.listed.clear()
            try:
                async with asyncio.timeout(self.settings.start_seconds):
                    await self._list(session)
            except Exception as error:  # boundary: a server that cannot list its tools keeps its earlier ones
                _log.warning("connector_not_listed", extra={"connector": self.name, "error": type(error).__name__})
            running.listed.set()
            await asyncio.sleep(limits.MCP_LIST_PAUSE_SECONDS)

    async def _list(self, session: "Session") -> None:
        listed = await session.list_tools(self._written, self._taken)
        self._written |= {tool.name for tool in listed.tools if tool.effect == "write"}
        before = {} if self.offered is None else {tool.name: tool.digest for tool in self.offered.tools}
        self._listed_at = elapsed_seconds()
        self._left_out = listed.left_out
        if self.offered is None or before != {tool.name: tool.digest for tool in listed.tools}:
            if self.offered is not None:
                _log.warning("connector_tools_changed", extra={"connector": self.name})
            self.offered = ToolList(self.name, listed.tools)


class _Run:
    """One run of a server; `settled` is set once it is ready or has failed, and `ended` when it ends."""

    def __init__(self) -> None:
        self.settled = asyncio.Event()
        self.stopped = asyncio.Event()
        self.ended = asyncio.Event()
        self.listed = asyncio.Event()
        self.listed.set()
        self.stop_reason = ""
        self.session: Session | None = None
        self.unanswered = 0

    @property
    def is_over(self) -> bool:
        """Whether its connection has ended; the program ends soon after."""
        has_lost_it = self.session is not None and self.session.is_over
        return self.stopped.is_set() or self.ended.is_set() or has_lost_it

    @property
    def is_stale(self) -> bool:
        """Whether it has announced changed tools that were not listed yet."""
        return not self.listed.is_set() or (self.session is not None and self.session.changed.is_set())

    async def until_listed(self) -> None:
        """Wait until its current tools are listed, or until it has ended."""
        while self.is_stale and not self.is_over:
            # The listing takes up the change before it sets this event.
            self.listed.clear()
            await self.listed.wait()

    def stop(self, reason: str) -> None:
        """End it, with the reason that people are shown."""
        self.stop_reason = reason
        self.stopped.set()
