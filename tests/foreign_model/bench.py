"""A Carrel as an operator starts it, a foreign model behind it, the proxy between them, and the verbs of the checks."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from carrel.kernel.settings import GatewaySettings
from carrel.main.settings import load
from tests.foreign_model.foreign_server import MODEL, ForeignServer
from tests.foreign_model.recording_proxy import Passed, RecordingProxy
from tests.harness.process import CARREL, Ended, RunningServer, clean_environment

WAIT_SECONDS = 20
WAITS_MAX = 6
FRAME_SECONDS = 120.0
CONNECT_SECONDS = 180.0
TAB = "foreign-model"


@dataclass
class Heard:
    """A reply as a chat hears it."""

    run_id: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: str = ""


class Bench:
    """Everything that a check needs; a context manager."""

    def __init__(self, venv: Path, folder: Path) -> None:
        self.proxy = RecordingProxy()
        self.foreign = ForeignServer(venv, folder / "foreign.txt")
        self.folder = folder
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.proxy.serving())
        self._open.callback(self.foreign.kill)
        self.proxy.upstream = self.foreign.start()
        self.carrel, self.client = self._open.enter_context(self.another("streaming"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    @contextmanager
    def another(self, name: str, **settings: str) -> Iterator[tuple[RunningServer, httpx.Client]]:
        """A Carrel in a folder of its own, whose default gateway is the foreign server, and its owner.

        Only runs ask the model anything: each request belongs to a receipt.
        """
        (self.folder / name).mkdir()
        gateway = {"KIND": "responses", "BASE_URL": self.proxy.url, "MODEL": MODEL}
        given = {f"CARREL_GATEWAY__DEFAULT__{setting}": value for setting, value in (gateway | settings).items()}
        environment = clean_environment(self.folder / name, **given, CARREL_CLASSIFIER__MODE="rules")
        server = RunningServer(self.folder / name, environment)
        try:
            with server.client() as client:
                yield server, client
        finally:
            server.close()

    def connect(self, name: str, *words: str) -> tuple[Ended, GatewaySettings]:
        """Let the command connect the server in a folder that is its home too; what it said, and what it wrote."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        whole = [str(CARREL), "connect", self.proxy.upstream, *words]
        given = clean_environment(folder)
        done = subprocess.run(
            whole, cwd=folder, env=given, capture_output=True, text=True, timeout=CONNECT_SECONDS, check=False
        )
        written = load(folder / ".carrel" / "carrel.toml", {}, {}).settings.gateway["default"]
        return Ended(done.returncode, done.stdout, done.stderr), written

    def run(self, run_id: str, client: httpx.Client | None = None) -> dict[str, Any]:
        """A run once it has ended."""
        client = client or self.client
        for _ in range(WAITS_MAX):
            client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": WAIT_SECONDS}).raise_for_status()
            run: dict[str, Any] = client.get(f"/api/runs/{run_id}").json()["run"]
            if run["state"] not in ("queued", "running"):
                return run
        raise AssertionError(f"{run_id} did not end in time")

    def say(self, lane: str, text: str, client: httpx.Client | None = None) -> dict[str, Any]:
        """Say something in a lane of the main agent; the run once it has ended."""
        client = client or self.client
        accepted = client.post("/api/runs", json={"message": text, "sessionKey": f"agent:main:{lane}"})
        return self.run(accepted.json()["runId"], client)

    @contextmanager
    def sent(self, run_ids: list[str], client: httpx.Client | None = None) -> Iterator[list[Passed]]:
        """What is asked of the model within the block; at its end the receipts of the runs must say exactly that."""
        before, steps = len(self.proxy.steps), list[Passed]()
        yield steps
        steps += self.proxy.steps[before:]
        client = client or self.client
        receipts = [client.get(f"/api/runs/{run_id}/receipt", params={"body": 1}).json() for run_id in run_ids]
        kept = [step["body"].encode() for receipt in receipts for step in receipt["steps"]]
        assert kept == [step.body for step in steps], "the receipts are not what was sent"

    @contextmanager
    def chat(self, name: str) -> Iterator["Chat"]:
        """A chat over the WebSocket."""
        address = self.carrel.url.replace("http://", "ws://") + "/ws/chat"
        with connect(address, subprotocols=[Subprotocol(f"bearer.{self.carrel.token}")]) as socket:
            chat = Chat(name, lambda frame: socket.send(json.dumps(frame)), lambda: socket.recv(FRAME_SECONDS))
            chat.send("bind")
            yield chat


class Chat:
    """One session in front of one person."""

    def __init__(self, name: str, send: Callable[[dict[str, Any]], None], receive: Callable[[], str | bytes]) -> None:
        self._name = name
        self._send = send
        self._receive = receive

    def send(self, kind: str, **more: str) -> None:
        """Send a frame."""
        self._send({"type": kind, "sessionId": self._name, "clientInstanceId": TAB, **more})

    def say(self, text: str, on_first: Callable[[], None] = lambda: None) -> Heard:
        """Say a line and hear the reply until it ends or breaks off; `on_first` is called at the first piece of it."""
        self.send("message", text=text)
        heard = Heard()
        while True:
            frame: dict[str, Any] = json.loads(self._receive())
            heard.run_id = frame.get("runId") or heard.run_id
            if frame["type"] == "assistant_chunk":
                heard.pieces.append(frame["text"])
                if len(heard.pieces) == 1:
                    on_first()
            if frame["type"] == "assistant_done":
                heard.whole = frame["text"]
                return heard
            if frame.get("payload", {}).get("name") in ("run.failed", "run.cancelled"):
                return heard
