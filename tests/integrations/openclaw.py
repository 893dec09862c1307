"""OpenClaw with the plugin, in a Node of its own: it replays what the real gateway was seen to do.

The recordings were made with OpenClaw 2026.9.6 and a scripted model. They hold the hooks that were called, in their
order and number, with the registration whose handler was called: the gateway registers a plugin several times, and
calls the hooks of messages in the first registration and those of agents in another.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.bridge.road import Road

Json = dict[str, Any]
PLUGIN = Path(__file__).parents[2] / "integrations" / "openclaw"
HOST = Path(__file__).with_name("openclaw_host.mjs")
RECORDINGS = Path(__file__).with_name("recordings")
SECONDS_MAX = 20.0
SEARCHES_MAX = 2_000
# The Node that drives the browsers of other tests; it has SQLite, and removes types from TypeScript.
NODE = Path(str(files("playwright"))) / "driver" / "node"
REGISTRATIONS = ["full", "discovery", "discovery"]


def recording(name: str, **names: str) -> list[Json]:
    """Return the hooks of a recording, with names of this test in place of those it had."""
    text = (RECORDINGS / f"{name}.json").read_text()
    for placeholder, value in names.items():
        text = text.replace(placeholder, value)
    hooks: list[Json] = json.loads(text)["hooks"]
    return hooks


class Host:
    """OpenClaw with the plugin, in a process of its own."""

    def __init__(self, road: Road, path: Path, environment: Mapping[str, str], **config: Any) -> None:
        given = {"baseUrl": road.url, "token": road.token, "queuePath": str(path)} | config
        given = {name: value for name, value in given.items() if value is not None}
        command = [str(NODE), str(HOST), str(PLUGIN), json.dumps(given)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | environment,
        )  # fmt: skip
        self._call(REGISTRATIONS)

    def replay(self, hooks: list[Json]) -> list[Any]:
        """Call the hooks of a recording, and return what they return."""
        return [self._call(hook) for hook in hooks]

    def fire(self, hook: str, event: Json | None = None, *, registration: int = 2, **where: Any) -> Any:
        """Call a hook and return what it returns."""
        return self._call({"registration": registration, "hook": hook, "event": event or {}, "where": where})

    def call(self, tool: str, params: Json, **where: Any) -> Any:
        """Call a tool as OpenClaw's model does, and return what it returns."""
        return self._call({"registration": 3, "tool": tool, "params": params, "where": where})

    def searched(self, words: str, **where: Any) -> list[str]:
        """Return the entries that the tool for searching finds, once they are indexed."""
        for _ in range(SEARCHES_MAX):
            if found := self.call("clawboard_search", {"q": words}, **where)["logs"]:
                return [entry["content"] for entry in found]
        raise AssertionError(f"{words} was never found")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.fire("gateway_stop", registration=1)
            self._close()

    def _call(self, line: Any) -> Any:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(line) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(SECONDS_MAX)
