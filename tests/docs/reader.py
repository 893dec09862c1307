"""Somebody who reads a page and types what it shows, in one terminal, with the server running elsewhere."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from carrel.kernel import elapsed_seconds
from tests.docs.pages import Piece
from tests.harness.process import RunningServer, clean_environment

PIECE_SECONDS = 60
CAUGHT_UP_SECONDS = 30
# `-E`: the trap also notices a command that fails inside $(…), where the shell itself goes on. What stands before `||`,
# or after `if` and `until`, may fail: there the page says what happens then.
_SHELL = ["bash", "-Eeuo", "pipefail", "-O", "inherit_errexit", "-c"]
# Whoever types quickly is done before the classifier looks. For others, one look is to renew every digest of a page.
_PACES = {"quick": {"CARREL_CLASSIFIER__INTERVAL_SECONDS": "3600"}, "slow": {"CARREL_DIGESTS__PER_CYCLE": "100"}}


class Typed(NamedTuple):
    """What a block came to: what it printed, and which of its commands failed."""

    out: str
    err: str
    failed: list[str]


class Terminal:
    """A terminal in a folder: variables that one block exports are there in the next one."""

    def __init__(self, folder: Path, environment: dict[str, str], seconds: float = PIECE_SECONDS) -> None:
        self._seconds = seconds
        self._folder = folder
        self._failed, self._exported = folder / ".failed", folder / ".exported"
        self._environment = environment | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"}

    def type(self, language: str, code: str) -> Typed:
        """Run one block to its end or its first failure."""
        self._failed.write_text("")
        command = [sys.executable, "-c", code] if language == "python" else [*_SHELL, self._noticing(code)]
        done = subprocess.run(
            command, cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=self._seconds,
            check=False,
        )  # fmt: skip
        failed = self._failed.read_text().splitlines()
        if done.returncode and not failed:
            failed = [f"exit status {done.returncode}"]
        if language == "sh" and not failed:
            exported = self._exported.read_text().split("\0")
            self._environment = dict(one.split("=", 1) for one in exported if "=" in one)
        return Typed(done.stdout, done.stderr, failed)

    def _noticing(self, code: str) -> str:
        note = f"printf '%s\\n' \"$BASH_COMMAND\" >> {shlex.quote(str(self._failed))}"
        return f"trap {shlex.quote(note)} ERR\n{code}\nenv -0 > {shlex.quote(str(self._exported))}\n"


class Reading:
    """A page that is read: a server in one directory, a terminal in another, and a home in which nothing was before."""

    def __init__(self, folder: Path, pace: str) -> None:
        data, started, typed = (folder / name for name in ("home/.carrel", "started-here", "typed-here"))
        for one in (data, started, typed):
            one.mkdir(parents=True)
        environment = clean_environment(folder / "home")
        self.server = RunningServer(data, environment | _PACES[pace], cwd=started)
        self.terminal = Terminal(typed, environment)

    def type(self, piece: Piece) -> Typed:
        """Type what the page shows."""
        return self.terminal.type(piece.language, piece.code)

    def catch_up(self) -> None:
        """Let classifier, digests and index catch up with what was said, as they do while a person reads on."""
        deadline = elapsed_seconds() + CAUGHT_UP_SECONDS
        with self.server.client() as client:
            while (before := client.get("/api/classifier/status").json())["pending"]:
                client.post("/api/digests/run", json={}).raise_for_status()
                while client.get("/api/classifier/status").json()["lastCycleAt"] == before["lastCycleAt"]:
                    assert elapsed_seconds() < deadline, f"the classifier did not catch up: {before}"
            while client.get("/api/health").json()["index"]["pending"]:
                assert elapsed_seconds() < deadline, "the index did not catch up"
