"""`chat` and `send`: talk to an agent in the terminal, with replies streamed; or send it one message."""

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from carrel.bridge import Client, Fault, Live, Refused, Run, TimedOut, is_session
from carrel.kernel import Refusal
from carrel.main.cli import run_results
from carrel.main.cli.accounts import AGENTS
from carrel.main.cli.command import MESSAGE, Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen
from carrel.main.cli.request import request
from carrel.main.cli.run_results import WAITING, fault_reporter
from carrel.main.cli.session_keys import session_key

_HERE = {"channelType": "cli", "clientInstanceId": "cli"}
ANSWER_SECONDS = 1800.0
PROMPT = "you> "
_QUIT = frozenset({"/quit", "/exit"})
# A path is not a command.
_COMMAND = re.compile(r"/([a-z][a-z_-]*)(?=\s|$)")
# Commands that every server knows; only for others is the server asked.
_COMMON = frozenset({"help", "status", "new", "sessions", "switch", "reset", "stop", "plan", "auto", "goal", "memory"})
_LISTED = re.compile(r"^/([a-z_-]+)", re.MULTILINE)


def chat(args: Namespace, screen: Screen) -> int:
    """Chat until the input ends or a line is /quit; exit with 1 if the last line was refused or its run failed."""
    with connect(args) as client:
        session_key = _session(client, args)
        if sys.stdin.isatty():
            screen.note(f"Chatting in {session_key}. /help lists the commands, /quit leaves.")
        code: int = Exit.OK
        with client.listen(session_key) as live:
            session = _Chat(client, screen, session_key, live)
            session.look_for_question()
            for line in _lines(screen):
                if line in _QUIT:
                    break
                if session.is_unknown_command(line):
                    continue
                code = session.send_or_stop(line)
    return code


def _session(client: Client, args: Namespace) -> str:
    """Return the session key to use: the one given, a new one for the agent given, or the last one used here."""
    if args.session:
        return str(args.session)
    agent = args.agent or args.named
    if agent and is_session(agent):
        return session_key(client, agent)
    if agent:
        made = AGENTS.of(client, agent, lambda _: client.post("/api/sessions", {"agentId": agent, **_HERE}))
        return str(made["sessionKey"])
    return str(client.get("/api/sessions/active", _HERE)["sessionKey"])


def _lines(screen: Screen) -> Iterator[str]:
    at_terminal = sys.stdin.isatty()
    # Colour codes are marked as zero-width, so that line editing does not count them.
    prompt = re.sub(r"(\x1b\[\d+m)", "\x01\\1\x02", screen.paint("cyan", PROMPT))
    if at_terminal:
        with suppress(ImportError):
            import readline  # noqa: F401  (importing it gives `input` line editing)
    while True:
        try:
            line = input(prompt) if at_terminal else next(sys.stdin)
        except EOFError:
            screen.line()
            return
        except StopIteration:
            return
        if line.strip():
            yield line.strip()


@dataclass(eq=False)
class _Chat:
    """A chat in one session at a time; /new and /switch move it to another."""

    _client: Client
    _screen: Screen
    _session_key: str
    _live: Live
    # The run whose reply is awaited.
    _run_id: str = ""
    # The run that asked the person something; the next line is the answer.
    _asking: Run | None = None
    _commands: set[str] = field(default_factory=set)
    # Messages whose refused tool calls were shown.
    _seen: set[str] = field(default_factory=set)

    def look_for_question(self) -> None:
        """Show the question of the session's newest run, if it asks one."""
        self._ask(run_results.newest_question(self._client, self._session_key))

    def _ask(self, run: Run | None) -> None:
        self._asking = run
        if run is not None:
            self._screen.note(run_results.question_of(run))
            if run.waiting_for == "approval":
                self._screen.note("Answer yes or no.")

    def is_unknown_command(self, line: str) -> bool:
        """Report a command that does not exist, instead of sending it to the agent as a message."""
        named = _COMMAND.match(line)
        if named is None or named[1] in _COMMON or named[1] in self._known_commands():
            return False
        meant = Refusal.nearest(named[1], self._known_commands())
        hint = f"did you mean /{meant}?" if meant else "/help lists them."
        self._screen.note(f"There is no command /{named[1]}; {hint}")
        return True

    def _known_commands(self) -> set[str]:
        if not self._commands:
            asked = {"text": "/help", "sessionKey": self._session_key, **_HERE}
            self._commands = set(_LISTED.findall(self._client.post("/api/chat", asked)["reply"]))
        return self._commands

    def send_or_stop(self, line: str) -> int:
        """Send a line and return the exit code; an interrupt while its reply is awaited only cancels the run."""
        self._run_id = ""
        try:
            run = self.send(line)
        except Refused as refused:
            if self._asking is None or refused.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT):
                raise
            # The line did not answer the question, or the question is no longer open.
            self._screen.note(f"Not sent: {refused.message}")
            self.look_for_question()
            return Exit.FAILED
        except KeyboardInterrupt:
            if not self._run_id:
                raise
            self._client.close()
            with suppress(Refused):
                self._client.runs.cancel(self._run_id)
            self._screen.note("Stopped. Ctrl-C again, or /quit, leaves.")
            self._asking = None
            return Exit.OK
        if run is None or run.state == "waiting":
            return Exit.OK
        return run_results.show_result(run, self._screen, with_reply=False)

    def send(self, line: str) -> Run | None:
        """Send a line, which answers the run that asked; show the reply and return the run, None for a command."""
        answers = self._asking.id if self._asking else None
        said = {"text": line, "answersRunId": answers, "sessionKey": self._session_key, **_HERE}
        accepted = self._client.post("/api/chat", said)
        if "runId" not in accepted:
            self._show_command(accepted)
            self.look_for_question()
            return None
        self._run_id = run_id = accepted["runId"]
        on_fault = fault_reporter(self._screen)
        streamed = ""
        if self._live.is_open and not self._screen.as_json:
            with self._screen.waiting(WAITING):
                streamed = self._stream(run_id, on_fault)
        run = run_results.wait_for(self._client, run_id, self._screen, seconds=ANSWER_SECONDS, on_fault=on_fault)
        self._show(run, streamed)
        self._show_refusals(run)
        self._ask(run if run_results.asks_person(run) else None)
        return run

    def _show_command(self, answer: dict[str, Any]) -> None:
        """Show a command's reply and follow it to another session if it switched."""
        if self._screen.as_json:
            self._screen.json(answer)
        else:
            self._screen.line(answer.get("reply") or "")
        if answer["sessionKey"] != self._session_key:
            self._session_key = answer["sessionKey"]
            self._live.bind(self._session_key)

    def _stream(self, run_id: str, on_fault: Callable[[Fault], None]) -> str:
        """Print the run's reply while it is written; return what was printed."""
        written = ""
        with suppress(TimedOut):
            for piece in self._live.pieces(run_id, timeout_seconds=ANSWER_SECONDS, on_fault=on_fault):
                if piece.starts_over:
                    self._screen.end_line()
                self._screen.piece(piece.text)
                written = piece.text if piece.starts_over else written + piece.text
        return written

    def _show_refusals(self, run: Run) -> None:
        """Show which tool calls of the run were refused; its reply may not say so."""
        if not run.tools_called or self._screen.as_json:
            return
        history = self._client.sessions.history(self._session_key, include_tools=True)
        new = [one for one in history.raw["messages"] if one.get("runId") == run.id and one["id"] not in self._seen]
        self._seen |= {one["id"] for one in new}
        for refusal in run_results.refusals_in(new):
            self._screen.note(refusal)

    def _show(self, run: Run, streamed: str) -> None:
        if self._screen.as_json:
            self._screen.json({"run": run.raw})
            return
        # The streamed text is the reply; a silent reply is not streamed.
        if run.state == "completed" and not streamed:
            self._screen.line(run.reply or "")
        self._screen.end_line()
        self._screen.out.flush()


def _send(client: Client, args: Namespace) -> Any:
    if not args.text.strip():
        raise Failure(Exit.USAGE, "Nothing to send; pass a text, or - to read it from stdin.")
    target = None if args.target is None else session_key(client, args.target)
    return AGENTS.of(client, _agent_in(args.target or ""), lambda _: client.send(target, args.text)).raw


def _agent_in(target: str) -> str:
    """Return the agent that a target names, also as part of a session key."""
    parts = target.split(":")
    return parts[1] if len(parts) > 2 and parts[0] == "agent" else target


COMMANDS = (
    command(
        "chat", "chat with an agent", chat,
        option("named", "AGENT", "start a new session with this agent; or a session key", nargs="?"),
        option("--agent", "AGENT", "the same"),
        option("--session", "SESSION", "continue this session"),
        examples=("", "main", "--session agent:main:cli:report"),
    ),
    request(
        "send", "send a message to an agent or a session", _send, "{runId}",
        option("target", "AGENT|SESSION", "an agent's id or a session key", nargs="?"),
        MESSAGE,
        run_results.wait_option(60.0),
        hint="Queued in {sessionKey}. Wait for it: `carrel runs wait {runId}`",
        examples=('"How far are you?" --wait', 'writer "Write the report"'),
    ),
)  # fmt: skip
