"""`chat`: a conversation at the terminal, its answers streamed as they are written; piped, a line is a message."""

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress

from carrel.bridge import Client
from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.live import Live, listen
from carrel.main.cli.reaching import reach
from carrel.main.cli.screen import Screen
from carrel.main.cli.waiting import Run, answer_run, asks, read_run, settled, tell, wait_for

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
            for line in _lines(screen):
                if line in _QUIT:
                    break
                run = _say(client, live, session_key, line, asking, screen)
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


def _say(
    client: Client, live: Live | None, session_key: str, line: str, asking: Run | None, screen: Screen
) -> Run | None:
    """Say a line, or answer the run that asked; show the answer and return the run, none for a command."""
    if asking and not line.startswith("/"):
        run_id = str(answer_run(client, asking, line)["id"])
    else:
        heard = client.post(
            "/api/chat",
            {"text": line, "sessionKey": session_key, "channelType": "cli", "clientInstanceId": CLIENT_INSTANCE},
        )
        if "runId" not in heard:
            if screen.as_json:
                screen.json(heard)
            else:
                screen.line(heard.get("reply") or "")
            return None
        run_id = heard["runId"]
    streamed = _stream(client, live, run_id, screen) if live and not screen.as_json else ""
    run = wait_for(client, run_id, screen, seconds=ANSWER_SECONDS)
    if screen.as_json:
        screen.json({"run": run})
        return run
    reply = run.get("reply") or ""
    if run["state"] == "completed":
        # What was streamed is not said again; a reply that grew elsewhere is.
        screen.line("" if streamed and reply.strip() == streamed.strip() else ("\n" if streamed else "") + reply)
        screen.out.flush()
    elif streamed:
        screen.line()
    return run


def _stream(client: Client, live: Live, run_id: str, screen: Screen) -> str:
    """Write the run's text as it comes; return what was written when the reply is done or the line is cut."""
    written: list[str] = []
    for piece in live.pieces(run_id, ended=lambda: settled(read_run(client, run_id))):
        written.append(piece)
        screen.piece(piece)
    return "".join(written)


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
