"""The pair that is walked through: an OpenClaw gateway, a Carrel from this checkout, and the model behind both."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from carrel.kernel import elapsed_seconds
from tests.docs.pages import ROOT, Piece, pieces_of
from tests.docs.reader import Terminal, Typed
from tests.harness.process import RunningServer
from tests.openclaw.gateway import Gateway, free_port
from tests.openclaw.installation import Installation
from tests.openclaw.model import WalkedModel

GUIDE = ROOT / "docs" / "guides" / "openclaw.md"
UNTIL_SECONDS = 120.0
# A block may hold several turns, and the first one takes long.
PIECE_SECONDS = 300.0
LOOK_SECONDS = 0.5
# After so long without a request nothing is left of what was begun.
REST_SECONDS = 20.0
PAGE = 200
# Below the system's temporary folder, whatever OpenClaw is told.
_TEMPORARY = Path(tempfile.gettempdir())
LEFT_BY_OPENCLAW = tuple(
    _TEMPORARY / name
    for name in (
        "openclaw", f"openclaw-state-locks-{os.getuid()}", f".openclaw-terminal-staging-{os.getuid()}",
        "node-compile-cache",
    )
)  # fmt: skip
# Short ones, so that a minute of the walk is an evening of a person.
PACE = {
    "CARREL_CLASSIFIER__INTERVAL_SECONDS": "1",
    "CARREL_DIGESTS__INTERVAL_MINUTES": "1",
    "CARREL_DIGESTS__PER_CYCLE": "100",
}

Entry = dict[str, Any]
Found = TypeVar("Found")


class Pair:
    """Everything that the steps need; it ends all that it has started."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        home = folder / "home"
        home.mkdir(parents=True)
        self._others = [left for left in LEFT_BY_OPENCLAW if left.exists()]
        self._data = home / ".carrel"
        self._data.mkdir()
        self._port = free_port()
        self.model = WalkedModel()
        self.model.__enter__()
        self.gateway = Gateway(installation, home, self.model.base_url)
        self.environment = self.gateway.environment | PACE
        self.home = home
        self._typed = folder / "typed-here"
        self._typed.mkdir()
        self.terminal = Terminal(self._typed, self.environment, PIECE_SECONDS)
        self.carrel = self._started()
        self.is_set_up = False

    def __enter__(self) -> Self:
        try:
            self.gateway.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gateway.stop()
        self.carrel.close()
        self.model.__exit__(None, None, None)
        for left in LEFT_BY_OPENCLAW:
            if left not in self._others:
                shutil.rmtree(left, ignore_errors=True)

    def _started(self) -> RunningServer:
        return RunningServer(self._data, self.environment, "--port", str(self._port), cwd=self.home)

    def restart_carrel(self) -> None:
        """Kill the server as a power cut would, if it is alive, and start it again where it was."""
        self.kill_carrel()
        self.carrel = self._started()

    def kill_carrel(self) -> None:
        """Kill the server as a power cut would."""
        self.carrel.close()

    def change_settings(self, change: Callable[[str], str]) -> None:
        """Edit the server's settings as a person would, and start it again."""
        file = self._data / "carrel.toml"
        before = file.read_text()
        after = change(before)
        assert after != before, f"nothing was changed in:\n{before}"
        file.write_text(after)
        self.restart_carrel()

    def set_up(self) -> None:
        """Let our own command connect the two, once."""
        if not self.is_set_up:
            self.typed("carrel openclaw setup --yes")
            self.until("the plugin is alive", lambda: '"alive"' in self.terminal.type("sh", CHECK).out)
            self.is_set_up = True

    def typed(self, command: str) -> Typed:
        """Type a command; it must work."""
        typed = self.terminal.type("sh", command)
        assert not typed.failed, f"{command} failed:\n{typed.out}{typed.err}"
        return typed

    def get(self, path: str, **params: Any) -> Any:
        """Ask the server as its owner."""
        with self.carrel.client() as client:
            answer = client.get(path, params=params)
            answer.raise_for_status()
            return answer.json()

    def post(self, path: str, body: Any) -> Any:
        """Send the server something as its owner."""
        with self.carrel.client() as client:
            answer = client.post(path, json=body)
            assert answer.status_code < 300, f"{path}: {answer.status_code} {answer.text}"
            return answer.json()

    def entries(self, holding: str = "", **params: Any) -> list[Entry]:
        """Return the entries of the log whose text holds something, oldest first."""
        found: list[Entry] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.get("/api/log", limit=PAGE, **params, **({"cursor": cursor} if cursor else {}))
            found += page["logs"]
            cursor = page["nextCursor"]
        return [entry for entry in reversed(found) if holding in entry["content"]]

    def until(self, what: str, look: Callable[[], Found], seconds: float = UNTIL_SECONDS) -> Found:
        """Look until there is something, and return it."""
        deadline = elapsed_seconds() + seconds
        while True:
            try:
                found = look()
            except httpx.TransportError:
                found = None
            if found:
                return found
            assert elapsed_seconds() < deadline, f"in {seconds:.0f} s it did not happen that {what}"
            time.sleep(LOOK_SECONDS)

    def settle(self) -> None:
        """Wait until everything that was said is answered, recorded and sorted."""
        self.until("every run has ended", lambda: all(run["endedAt"] for run in self.get("/api/runs")["runs"]))
        self.until("the outbox is empty", lambda: "nothing waits" in self.terminal.type("sh", CHECK).out)
        self.until("the classifier is done", lambda: not self.get("/api/classifier/status")["pending"])

    def finish_tasks(self) -> None:
        """Finish every task: one in progress would be taken up again."""
        for task in self.get("/api/tasks")["tasks"]:
            if task["status"] != "done":
                self.typed(f"carrel tasks done {task['id']}")

    def renew_digests(self) -> None:
        """Let the digests catch up with what was said: a model is asked for each, one after the other."""
        before = self.get("/api/classifier/status")["lastCycleAt"]
        self.post("/api/digests/run", {})
        self.until("digests are renewed", lambda: self.get("/api/classifier/status")["lastCycleAt"] != before)
        asked, since = len(self.model.requests), elapsed_seconds()
        while elapsed_seconds() < since + REST_SECONDS:
            time.sleep(LOOK_SECONDS)
            if asked != len(self.model.requests):
                asked, since = len(self.model.requests), elapsed_seconds()

    def quiet_for(self, seconds: float) -> int:
        """Wait while nobody says anything; return how often the model was asked, which must be never."""
        before = len(self.model.requests)
        deadline = elapsed_seconds() + seconds
        while elapsed_seconds() < deadline:
            time.sleep(LOOK_SECONDS)
        asked = self.model.requests[before:]
        assert not asked, f"{len(asked)} model calls, the first: {asked[0].body[-2000:]!r}"
        return len(asked)

    def keep_evidence(self, folder: Path) -> None:
        """Write down what the model was asked and what the log holds."""
        requests = [json.loads(request.body) for request in self.model.requests]
        (folder / "requests.json").write_text(json.dumps(requests, indent=1))
        try:
            (folder / "log.json").write_text(json.dumps(self.entries(), indent=1))
        except (httpx.HTTPError, AssertionError) as fault:
            (folder / "log.json").write_text(str(fault))


CHECK = "carrel openclaw check --json || echo status $?"


def guide_pieces() -> list[Piece]:
    """Return what the guide shows to type, in order."""
    return pieces_of(GUIDE, "openclaw")
