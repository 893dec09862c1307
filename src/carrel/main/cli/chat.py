"""`chat`: talk to an agent in the terminal, with replies streamed. Piped input is sent line by line."""

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from carrel.bridge import Client, Refused
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.live_text import Live, listen
from carrel.main.cli.names import of_agent, session_key
from carrel.main.cli.output import Screen
from carrel.main.cli.run_results import (
    Run,
    Troubles,
    answer_run,
    has_settled,
    question_of,
    read_run,
    show_result,
    wait_for,
)
from carrel.main.cli.send import is_session
from carrel.main.cli.words import nearest

CLIENT_INSTANCE = "cli"
ANSWER_SECONDS = 1800.0
PROMPT = "you> "
_QUIT = frozenset({"/quit", "/exit"})
# A path is no command.
_COMMAND = re.compile(r"/([a-z][a-z_-]*)(?=\s|$)")
# What every server knows; of other commands the server is asked.
_COMMON = frozenset({"help", "status", "new", "sessions", "switch", "reset", "stop", "plan", "auto", "goal", "memory"})
_LISTED = re.compile(r"^/([a-z_-]+)", re.MULTILINE)


def chat(args: Namespace, screen: Screen) -> int:
    """Chat until the input ends or a line is /quit; exit with 1 if the last run failed."""
    with connect(args) as client:
        session_key = _session(client, args)
        if sys.stdin.isatty():
            screen.note(f"Chatting in {session_key}. /help lists the commands, /quit leaves.")
        code: int = Exit.OK
        asking: Run | None = None
        with listen(client, session_key, CLIENT_INSTANCE) as live:
            session = _Chat(client, screen, session_key, live)
            for line in _lines(screen):
                if line in _QUIT:
                    break
                if session.is_unknown_command(line):
                    continue
                run = session.send_or_stop(line, asking)
                asking = run if run and run["state"] == "waiting" else None
                code = show_result(run, screen, with_reply=False) if run and not asking else Exit.OK
                if asking:
                    screen.note(question_of(asking))
    return code


def _session(client: Client, args: Namespace) -> str:
    """Return the session key to use: the one given, a new one for the agent given, or the last one used here."""
    if args.session:
        return session_key(client, args.session)
    here = {"channelType": "cli", "clientInstanceId": CLIENT_INSTANCE}
    agent = args.agent or args.named
    if agent and is_session(agent):
        return session_key(client, agent)
    if agent:
        made = of_agent(client, agent, lambda: client.post("/api/sessions", {"agentId": agent, **here}))
        return str(made["sessionKey"])
    return str(client.get("/api/sessions/active", here)["sessionKey"])


def _lines(screen: Screen) -> Iterator[str]:
    """Yield the typed or piped lines, skipping empty ones."""
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        with suppress(ImportError):
            import readline  # noqa: F401  (importing it gives `input` line editing)
    while True:
        try:
            line = input(_prompt(screen)) if at_terminal else next(sys.stdin)
        except EOFError:
            screen.line()
            return
        except StopIteration:
            return
        if line.strip():
            yield line.strip()


def _prompt(screen: Screen) -> str:
    """Return the prompt, with colour codes marked as zero-width so that line editing does not count them."""
    return re.sub(r"(\x1b\[\d+m)", "\x01\\1\x02", screen.paint("cyan", PROMPT))


class _Chat:
    """A chat in one session at a time; /new and /switch move it to another."""

    def __init__(self, client: Client, screen: Screen, session_key: str, live: Live | None) -> None:
        self._client = client
        self._screen = screen
        self._session_key = session_key
        self._live = live
        # The run whose reply is awaited.
        self._run_id = ""
        self._commands: set[str] = set()

    def is_unknown_command(self, line: str) -> bool:
        """Tell a person of a command that does not exist, instead of sending it to the agent as a message."""
        named = _COMMAND.match(line)
        if named is None or named[1] in _COMMON or named[1] in self._known_commands():
            return False
        meant = nearest(named[1], self._known_commands())
        hint = f"did you mean /{meant}?" if meant else "/help lists them."
        self._screen.note(f"There is no command /{named[1]}; {hint}")
        return True

    def _known_commands(self) -> set[str]:
        if not self._commands:
            here = {"sessionKey": self._session_key, "channelType": "cli", "clientInstanceId": CLIENT_INSTANCE}
            listed = self._client.post("/api/chat", {"text": "/help", **here})["reply"]
            self._commands = set(_LISTED.findall(listed))
        return self._commands

    def send_or_stop(self, line: str, asking: Run | None) -> Run | None:
        """Send a line; an interrupt while its reply is awaited cancels the run instead of ending the chat."""
        self._run_id = ""
        try:
            return self.send(line, asking)
        except KeyboardInterrupt:
            if not self._run_id:
                raise
            self._client.close()
            with suppress(Refused):
                self._client.post(f"/api/runs/{self._run_id}/cancel")
            self._screen.note("\nStopped. Ctrl-C again, or /quit, leaves.")
            return None

    def send(self, line: str, asking: Run | None) -> Run | None:
        """Send a line, or answer the run that asked; show the reply and return the run, None for a command."""
        if asking and not line.startswith("/"):
            run_id = str(answer_run(self._client, asking, line)["id"])
        else:
            here = {"sessionKey": self._session_key, "channelType": "cli", "clientInstanceId": CLIENT_INSTANCE}
            accepted = self._client.post("/api/chat", {"text": line, **here})
            if "runId" not in accepted:
                self._show_command(accepted)
                return None
            run_id = accepted["runId"]
        self._run_id = run_id
        troubles = Troubles(self._screen)
        streamed = self._stream(run_id, troubles) if self._live and not self._screen.as_json else ""
        run = wait_for(self._client, run_id, self._screen, seconds=ANSWER_SECONDS, troubles=troubles)
        self._show(run, streamed)
        return run

    def _show_command(self, answer: dict[str, Any]) -> None:
        """Show a command's reply and follow it to another session if it switched."""
        if self._screen.as_json:
            self._screen.json(answer)
        else:
            self._screen.line(answer.get("reply") or "")
        if answer["sessionKey"] != self._session_key:
            self._session_key = answer["sessionKey"]
            if self._live:
                self._live.bind(self._session_key, CLIENT_INSTANCE)

    def _stream(self, run_id: str, troubles: Troubles) -> str:
        """Print the run's text until the reply is done or the connection drops; return what was printed."""
        assert self._live is not None, "only called with a live connection"
        written: list[str] = []

        def ended() -> bool:
            return has_settled(read_run(self._client, run_id))

        for piece in self._live.pieces(run_id, ended=ended, failed=troubles.tell):
            written.append(piece)
            self._screen.piece(piece)
        return "".join(written)

    def _show(self, run: Run, streamed: str) -> None:
        screen = self._screen
        if screen.as_json:
            screen.json({"run": run})
        elif run["state"] == "completed":
            reply = run.get("reply") or ""
            # Text that was streamed is not printed twice; a reply that differs from it is printed in full.
            screen.line("" if streamed and reply.strip() == streamed.strip() else ("\n" if streamed else "") + reply)
            screen.out.flush()
        elif streamed:
            screen.line()


COMMANDS = (
    Command(
        "chat",
        "chat with an agent",
        chat,
        (
            option("named", nargs="?", metavar="AGENT", help="start a new session with this agent; or a session key"),
            option("--agent", metavar="AGENT", help="the same"),
            option("--session", metavar="SESSION", help="continue this session"),
        ),
    ),
)
