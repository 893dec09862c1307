"""A Carrel as an operator starts it, a foreign model behind it, the proxy between them, and the verbs of the checks."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.foreign_model.foreign_server import MODEL, ForeignServer
from tests.foreign_model.recording_proxy import Passed, RecordingProxy
from tests.harness.process import RunningServer, clean_environment

WAIT_SECONDS = 20
WAITS_MAX = 6
FRAME_SECONDS = 120.0
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
        """A Carrel in a folder of its own, whose default gateway is the foreign server, and its owner."""
        (self.folder / name).mkdir()
        prefix = "CARREL_GATEWAY__DEFAULT__"
        gateway = {f"{prefix}KIND": "responses", f"{prefix}BASE_URL": self.proxy.url, f"{prefix}MODEL": MODEL}
        more = {f"{prefix}{setting}": value for setting, value in settings.items()}
        server = RunningServer(self.folder / name, clean_environment(self.folder / name, **gateway | more))
        try:
            with server.client() as client:
                yield server, client
        finally:
            server.close()

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
