"""`chat`: a conversation at the terminal, its answers streamed as they are written; piped, a line is a message."""

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.connection import reach
from carrel.main.cli.live_text import Live, listen
from carrel.main.cli.output import Screen
from carrel.main.cli.wait import Run, answer_run, asks, read_run, settled, tell, wait_for

CLIENT_INSTANCE = "cli"
ANSWER_SECONDS = 1800.0
PROMPT = "you> "
_QUIT = frozenset({"/quit", "/exit"})


def chat(args: Namespace, screen: Screen) -> int:
    """Talk until the lines end or one says /quit; ends with 1 when the last answer was a failure."""
    with reach(args) as client:
        session_key = _session(client, args)
        if sys.stdin.isatty():
            screen.note(f"Talking in {session_key}. /help lists commands, /quit leaves.")
        code: int = Exit.OK
        asking: Run | None = None
        with listen(client, session_key, CLIENT_INSTANCE) as live:
            talk = _Talk(client, screen, session_key, live)
            for line in _lines(screen):
                if line in _QUIT:
                    break
                run = talk.say(line, asking)
                asking = run if run and run["state"] == "waiting" else None
                code = tell(run, screen, with_reply=False) if run and not asking else Exit.OK
                if asking:
                    screen.note(asks(asking))
    return code


def _session(client: Client, args: Namespace) -> str:
    """Return the key to talk in: the one named, a new one with the agent named, else the one last used here."""
    if args.session:
        return str(args.session)
    here = {"channelType": "cli", "clientInstanceId": CLIENT_INSTANCE}
    if args.agent:
        return str(client.post("/api/sessions", {"agentId": args.agent, **here})["sessionKey"])
    return str(client.get("/api/sessions/active", here)["sessionKey"])


def _lines(screen: Screen) -> Iterator[str]:
    """Yield what is typed or piped in, line by line, without the empty ones."""
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        with suppress(ImportError):
            import readline  # noqa: F401  (importing it gives `input` its line editing)
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
    """Return the prompt; what has no width is marked, or line editing would count it."""
    return re.sub(r"(\x1b\[\d+m)", "\x01\\1\x02", screen.paint("cyan", PROMPT))


class _Talk:
    """A talk in one session at a time; /new and /switch take it to another."""

    def __init__(self, client: Client, screen: Screen, session_key: str, live: Live | None) -> None:
        self._client = client
        self._screen = screen
        self._session_key = session_key
        self._live = live

    def say(self, line: str, asking: Run | None) -> Run | None:
        """Say a line, or answer the run that asked; show the answer and return the run, none for a command."""
        if asking and not line.startswith("/"):
            run_id = str(answer_run(self._client, asking, line)["id"])
        else:
            here = {"sessionKey": self._session_key, "channelType": "cli", "clientInstanceId": CLIENT_INSTANCE}
            heard = self._client.post("/api/chat", {"text": line, **here})
            if "runId" not in heard:
                self._commanded(heard)
                return None
            run_id = heard["runId"]
        streamed = self._stream(run_id) if self._live and not self._screen.as_json else ""
        run = wait_for(self._client, run_id, self._screen, seconds=ANSWER_SECONDS)
        self._show(run, streamed)
        return run

    def _commanded(self, heard: dict[str, Any]) -> None:
        """Show what a command said and go where it leads."""
        if self._screen.as_json:
            self._screen.json(heard)
        else:
            self._screen.line(heard.get("reply") or "")
        if heard["sessionKey"] != self._session_key:
            self._session_key = heard["sessionKey"]
            if self._live:
                self._live.bind(self._session_key, CLIENT_INSTANCE)

    def _stream(self, run_id: str) -> str:
        """Write the run's text as it comes; return what was written when the reply is done or the line is cut."""
        assert self._live is not None, "only asked where there is a live line"
        written: list[str] = []
        for piece in self._live.pieces(run_id, ended=lambda: settled(read_run(self._client, run_id))):
            written.append(piece)
            self._screen.piece(piece)
        return "".join(written)

    def _show(self, run: Run, streamed: str) -> None:
        screen = self._screen
        if screen.as_json:
            screen.json({"run": run})
        elif run["state"] == "completed":
            reply = run.get("reply") or ""
            # What was streamed is not said again; a reply that grew elsewhere is.
            screen.line("" if streamed and reply.strip() == streamed.strip() else ("\n" if streamed else "") + reply)
            screen.out.flush()
        elif streamed:
            screen.line()


COMMANDS = (
    Command(
        "chat",
        "talk with an agent",
        chat,
        (
            option("--agent", metavar="ID", help="begin a new session with this agent"),
            option("--session", metavar="KEY", help="go on in this session"),
        ),
    ),
)
