"""The plugin for OpenClaw: how long a turn at the gateway waits for it, and that a server in trouble is not waited for.

The hooks of a recorded turn are replayed to the plugin in Node, so no gateway is needed.
"""

import json
import math
import socket
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.figures import Figure, at_most, compared, plain, tell
from tests.bridge.tiny_server import tiny_server
from tests.harness.process import RunningServer, clean_environment

NAME = "openclaw"
TURNS = 200
REPEATS = 5
TROUBLED_TURNS = 10
BUDGET_MS = 1_200
# Of the same request by itself: the plugin writes the question to the disk, and sends it while its context is built.
RATIO_MAX = 3
# Over the budget, of the hook's own work and of a clock that is late.
OVER_MAX = 1.2
_ROOT = Path(__file__).parents[1]
_NODE = Path(str(files("playwright"))) / "driver" / "node"
_DRIVER = Path(__file__).with_name("openclaw_turns.mjs")
_PLUGIN = _ROOT / "integrations" / "openclaw"
_RECORDING = _ROOT / "tests" / "integrations" / "recordings" / "channel_turn.json"
SECONDS_MAX = 120


class Waited(Struct, frozen=True, rename="camel"):
    """Milliseconds that turns waited for the plugin, and that the same request for a context took by itself."""

    before_prompt: list[float]
    whole_turn: list[float]
    bare: list[float]


def measure(durability: str) -> list[Figure]:
    """Every figure of this benchmark."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-openclaw-") as name:
        folder = Path(name)
        return [*_with_server(folder, durability), *_in_trouble(folder)]


def _with_server(folder: Path, durability: str) -> list[Figure]:
    environment = clean_environment(
        folder, CARREL_CLASSIFIER__MODE="off", CARREL_STORAGE__DURABILITY=durability, CARREL_LOG__LEVEL="warning"
    )
    server = RunningServer(folder, environment)
    try:
        tell("openclaw: turns with the plugin")
        rounds = [_turns(folder / f"{at}.sqlite", server.url, server.token) for at in range(REPEATS)]
    finally:
        server.close()
    pairs = [(_p95(one.before_prompt), _p95(one.bare)) for one in rounds]
    whole = statistics.median(_p95(one.whole_turn) for one in rounds)
    alone = "GET /api/context by itself"
    return [
        compared(NAME, "added before the prompt, p95", "ms", pairs, yardstick=alone, bar=at_most(RATIO_MAX)),
        plain(NAME, "added to a whole turn, p95", "ms", whole),
    ]


def _in_trouble(folder: Path) -> list[Figure]:
    """What a turn waits for a server that is down, slow or refuses; the longest wait against the budget."""
    figures = []
    for name, trouble in {"down": _down, "slow": _slow, "refusing": _refusing}.items():
        tell(f"openclaw: a server that is {name}")
        with trouble() as url:
            waited = _troubled_turns(folder / f"{name}.sqlite", url)
        longest = [(max(waited.before_prompt), float(BUDGET_MS))]
        figures.append(
            compared(NAME, f"longest wait, server {name}", "ms", longest, yardstick="budget", bar=at_most(OVER_MAX))
        )
    return figures


def _turns(queue: Path, url: str, token: str) -> Waited:
    """Turns with a server that works, each followed by the yardstick."""
    return _driven({"baseUrl": url, "token": token, "queuePath": str(queue)}, str(TURNS), "yardstick")


def _troubled_turns(queue: Path, url: str) -> Waited:
    config = {"baseUrl": url, "queuePath": str(queue), "contextFetchTimeoutMs": BUDGET_MS}
    return _driven(config, str(TROUBLED_TURNS))


def _driven(config: dict[str, Any], *how: str) -> Waited:
    command = [str(_NODE), str(_DRIVER), str(_PLUGIN), str(_RECORDING), json.dumps(config), *how]
    done = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS_MAX)
    return msgspec.json.decode(done.stdout, type=Waited)


def _p95(waits: list[float]) -> float:
    return sorted(waits)[math.ceil(len(waits) * 0.95) - 1]


@contextmanager
def _down() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    yield url


@contextmanager
def _slow() -> Iterator[str]:
    """A server that takes every request and answers none."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1024)
        yield f"http://127.0.0.1:{deaf.getsockname()[1]}"


@contextmanager
def _refusing() -> Iterator[str]:
    with tiny_server() as server:
        server.otherwise = lambda _: (503, {"error": {"code": "storage_unavailable", "message": "Not now."}})
        yield server.url
