"""A server in a process of its own, as an operator starts it: ask it, stop it, kill it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.scripted_gateway import MODEL, ScriptedGateway

CARREL = Path(sys.executable).with_name("carrel")
# Starting takes a second or two of a processor, which is a minute of a machine that does many other things.
START_SECONDS = 90.0
STOP_SECONDS = 30.0
ANSWER_SECONDS = 30.0


class Ended(NamedTuple):
    """The exit status of a command and what it wrote."""

    code: int
    out: str
    err: str


def clean_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a machine on which nothing was ever set.

    Bytecode is kept there, so that the hundreds of processes that tests start do not each compile the whole package.
    """
    unset = ("CARREL_", "OPENCLAW_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    return kept | {"HOME": str(folder), "NO_COLOR": "1", "COLUMNS": "100"} | more


def reaching(gateway: ScriptedGateway) -> dict[str, str]:
    """Return the environment that makes the scripted gateway the default one; only runs ask it anything."""
    prefix = "CARREL_GATEWAY__DEFAULT__"
    return {f"{prefix}KIND": "responses", f"{prefix}BASE_URL": gateway.base_url, f"{prefix}MODEL": MODEL} | {
        "CARREL_CLASSIFIER__MODE": "rules"
    }


class RunningServer:
    """One started server and the folder it works in; `cwd` is where it is started, if not there."""

    # The command that serves, and where it keeps its store within the folder.
    COMMAND = "serve"
    STORE = "."

    def __init__(
        self, folder: Path, environment: dict[str, str], *options: str, program: Path = CARREL, cwd: Path | None = None
    ) -> None:
        self._program = str(program)
        self.folder = folder
        self.environment = environment
        self.log_file = folder / "stderr.txt"
        self.said: list[str] = []
        self._errors = self.log_file.open("a")
        command = [self._program, self.COMMAND, "--port", "0", "--data-dir", str(folder), *options]
        self.started = subprocess.Popen(
            command, cwd=cwd or folder, env=environment, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self.url = self._wait_until_ready()
        self.token = (folder / self.STORE / "owner_token").read_text().strip()

    def _wait_until_ready(self) -> str:
        alarm = threading.Timer(START_SECONDS, self.started.kill)
        alarm.start()
        try:
            assert self.started.stdout is not None
            for line in self.started.stdout:
                self.said.append(line.strip())
                if line.startswith("ready http"):
                    return line.split()[1]
        finally:
            alarm.cancel()
        raise AssertionError(f"the server did not become ready:\n{self.log_file.read_text()}")

    @property
    def dashboard(self) -> str:
        """The address that signs the owner in."""
        return f"{self.url}/#token={self.token}"

    def client(self, token: str | None = None) -> httpx.Client:
        """Return a client with the owner's token, or another one."""
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=ANSWER_SECONDS)

    def carrel(self, *words: str, stdin: str = "", cwd: Path | None = None) -> Ended:
        """Run one command of the command line against this server; `cwd` is where it is typed, if not in its folder."""
        whole = [self._program, *words, "--data-dir", str(self.folder)]
        done = subprocess.run(
            whole,
            cwd=cwd or self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def log(self) -> list[dict[str, Any]]:
        """Return the lines it has logged so far."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines() if line]

    def stop(self) -> int:
        """Ask it to stop, wait until it has, and return its exit status."""
        self.started.terminate()
        return self.wait()

    def wait(self) -> int:
        """Wait until it has ended and return its exit status."""
        return self.started.wait(STOP_SECONDS)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.started.send_signal(signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        """Leave nothing behind."""
        if self.started.poll() is None:
            self.kill()
        assert self.started.stdout is not None
        self.started.stdout.close()
        self._errors.close()


class RunningDemo(RunningServer):
    """`carrel demo`, as a newcomer starts it: it builds its world first."""

    COMMAND = "demo"
    STORE = "demo"


class RunningUp(RunningServer):
    """`carrel up`, as a newcomer starts a server."""

    COMMAND = "up"


Start = Callable[..., RunningServer]


@contextmanager
def servers_in(folder: Path) -> Iterator[Start]:
    """Start servers on one folder, one after the other; those still running at the end are killed."""
    started: list[RunningServer] = []

    def start(*options: str, **environment: str) -> RunningServer:
        started.append(RunningServer(folder, clean_environment(folder, **environment), *options))
        return started[-1]

    try:
        yield start
    finally:
        for server in started:
            server.close()
