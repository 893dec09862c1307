"""An OpenClaw gateway in a home of its own, as a person has it before they hear of Carrel."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from carrel.kernel import elapsed_seconds
from tests.openclaw.installation import Installation
from tests.scripted_gateway import MODEL

START_SECONDS = 180.0
STOP_SECONDS = 60.0
TURN_SECONDS = 180.0
GATEWAY_TOKEN = "gateway-token-of-the-walk"
# An agent that only OpenClaw knows.
CLERK = "clerk"
PEER, PEER_TOKEN = "ann", "peer-token-of-the-walk"

# With comments and without quotes, as people write it.
CONFIGURATION = """\
// The gateway of the walk.
{{
  gateway: {{
    mode: "local", // on this machine
    port: {port},
    bind: "loopback",
    auth: {{ mode: "token", token: "{token}" }},
  }},
  logging: {{ file: "{log}" }},
  models: {{
    providers: {{
      scripted: {{
        baseUrl: "{model_url}/v1",
        apiKey: "none",
        api: "openai-completions",
        models: [{{ id: "{model}", name: "Scripted", contextWindow: 128000, maxTokens: 4096 }}],
      }},
    }},
  }},
  agents: {{
    defaults: {{ model: {{ primary: "scripted/{model}" }}, heartbeat: {{ every: "0m" }} }},
    list: [{{ id: "main", default: true }}, {{ id: "{clerk}" }}],
  }},
  /* A channel over which another program talks to us. */
  channels: {{ a2a: {{ enabled: true, rateLimitPerMinute: 0, peers: {{ {peer}: {{ token: "{peer_token}" }} }} }} }},
}}
"""


class Gateway:
    """The gateway's process; it may be started again in the same home."""

    def __init__(self, installation: Installation, home: Path, model_url: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.state = home / ".openclaw"
        self.config = self.state / "openclaw.json"
        self.log = home / "openclaw.log"
        self.environment = own_environment(home, installation.path)
        self._program = str(installation.program)
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self.state.mkdir()
        self.config.write_text(
            CONFIGURATION.format(
                port=self.port, token=GATEWAY_TOKEN, log=home / "openclaw-file.log", model_url=model_url, model=MODEL,
                peer=PEER, peer_token=PEER_TOKEN, clerk=CLERK,
            )
        )  # fmt: skip

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "gateway"], cwd=self._home, env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        deadline = elapsed_seconds() + START_SECONDS
        while not self._is_ready():
            assert self._process.poll() is None, f"the gateway ended:\n{self.log.read_text()[-2000:]}"
            assert elapsed_seconds() < deadline, f"the gateway did not start:\n{self.log.read_text()[-2000:]}"
            time.sleep(0.5)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/.well-known/agent-card.json", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """Ask it to stop, and wait; if it does not, kill it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def _end(self, how: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            os.killpg(process.pid, how)
            process.wait(STOP_SECONDS)
        except (subprocess.TimeoutExpired, ProcessLookupError):
            pass
        finally:
            # Its helpers are in its group, whatever became of itself.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_SECONDS)

    def has_heard(self, agent: str) -> bool:
        """Whether one of its agents was ever asked something: only then it has a store."""
        return (self.state / "agents" / agent / "agent" / "openclaw-agent.sqlite").exists()

    def say(self, conversation: str, words: str, *, message_id: str = "", wait: bool = True) -> str:
        """Say something in a conversation of the channel; the answer, empty if nobody waits for it."""
        message = {
            "messageId": message_id or f"{conversation}-{len(words)}-{hash(words) & 0xFFFF}",
            "role": "ROLE_USER", "contextId": conversation, "parts": [{"text": words}],
        }  # fmt: skip
        params: dict[str, Any] = {"message": message}
        if not wait:
            params["configuration"] = {"returnImmediately": True}
        answer = self._post(
            "/a2a/v1", PEER_TOKEN, {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        )
        task = answer["result"]["task"]
        if not wait:
            return ""
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", json.dumps(answer)[:2000]
        return "".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])

    def ask(self, session_key: str, words: str) -> str:
        """Make a turn of a session over HTTP; the answer."""
        body = {"model": "openclaw/main", "input": words}
        answer = self._post("/v1/responses", GATEWAY_TOKEN, body, {"x-openclaw-session-key": session_key})
        return "".join(part.get("text", "") for item in answer["output"] for part in item.get("content", ()))

    def _post(self, path: str, token: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        given = {"Authorization": f"Bearer {token}", **(headers or {})}
        response = httpx.post(f"{self.url}{path}", json=body, headers=given, timeout=TURN_SECONDS)
        assert response.status_code == 200, f"{path}: {response.status_code} {response.text[:1000]}"
        return response.json()


def own_environment(home: Path, path: str) -> dict[str, str]:
    """Return an environment in which nothing of this machine's own OpenClaw or Carrel is set."""
    unset = ("CARREL_", "OPENCLAW_", "CLAWBOARD_", "PYTHONDONTWRITEBYTECODE", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    return kept | {"HOME": str(home), "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "OPENCLAW_DISABLE_BONJOUR": "1"}


def free_port() -> int:
    """Return a port that nobody listens on; a gateway and a server that are started again need the same one."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
