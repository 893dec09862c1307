"""The scripted gateway as OpenClaw: it refuses what the real one refuses, lists its agents, and tells of its sessions.

with ScriptedOpenClaw(agents=("main", "ops")) as gateway:
    gateway.script(calls(("carrel_task_get", {})), text("Done."))
    gateway.refusals                      # why it refused requests
    gateway.histories["agent:main:…"]     # what it answers when it is asked for the history of a session
"""

import json
from typing import Any
from urllib.parse import unquote

from tests.openclaw_rules import AGENTS, refusal_of
from tests.scripted_gateway import Answer, Request, ScriptedGateway, http_error, raw


class ScriptedOpenClaw(ScriptedGateway):
    """A server that takes what OpenClaw takes."""

    def __init__(self, agents: tuple[str, ...] = AGENTS) -> None:
        super().__init__()
        self.refusals: list[str] = []
        self.histories: dict[str, list[dict[str, Any]]] = {}
        self._agents = agents
        listed = ["openclaw", "openclaw/default", *(f"openclaw/{agent}" for agent in agents)]
        self.models = raw(json.dumps({"object": "list", "data": [{"id": name} for name in listed]}).encode())

    @property
    def sessions(self) -> list[str]:
        """The keys under which requests came, as OpenClaw writes them."""
        return [self._key(request) for request in self.requests]

    def _key(self, request: Request) -> str:
        given = request.headers["x-openclaw-session-key"].lower()
        agent = request.headers.get("x-openclaw-agent-id", self._agents[0])
        return given if given.startswith("agent:") else f"agent:{agent}:{given}"

    def _choose(self, method: str, request: Request) -> Answer:
        path, _, _ = request.path.partition("?")
        if method == "GET" and path.startswith("/sessions/"):
            key = unquote(path.removeprefix("/sessions/").removesuffix("/history"))
            key = key if key.startswith("agent:") else f"agent:{self._agents[0]}:{key}"
            return raw(json.dumps({"sessionKey": key, "messages": self.histories.get(key, [])}).encode())
        if method == "POST" and path.endswith(self.path):
            why = refusal_of(request.headers, request.body, self._agents)
            if why is not None:
                self.refusals.append(why)
                return http_error(400, why, "invalid_request_error")
        return super()._choose(method, request)
