"""Messages of MCP carried to a server and its answers back, for programs that speak over pipes.

What a message says is not looked into, but for what must stand in headers: the version and the names.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

from carrel.bridge.client import Client
from carrel.bridge.faults import BridgeFault, NotReachable

PATH = "/mcp"
SESSION_HEADER = "x-openclaw-session-key"
# A call may wait ten minutes for another session's reply.
ANSWER_SECONDS = 660.0
_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NOT_CARRIED, _WRONG, _BROKEN = -32000, -32600, -32700

Item = dict[str, Any]


class McpRelay:
    """Carries messages, from several threads at once if need be; each has a connection of its own."""

    def __init__(self, reach: Callable[[], Client], session: str = "") -> None:
        self._reach = reach
        self._session = session
        # What a handshake has settled on; later messages do not say it again.
        self._version = ""
        self._local = threading.local()

    def carry(self, line: str) -> str:
        """Carry one message and return the answer as one line, empty where none is due."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _told(None, _BROKEN, "This line is no JSON.")
        if not isinstance(message, dict):
            return _told(None, _WRONG, "Send one message a line, as an object.")
        try:
            status, answer = self._client().say(
                PATH, line.encode("utf-8", "replace"), self._headers(message), timeout_seconds=ANSWER_SECONDS
            )
        except BridgeFault as fault:
            self._local.client = None
            hint = " Start one with `carrel up`." if isinstance(fault, NotReachable) else ""
            return self._fault(message, _NOT_CARRIED, f"{fault}{hint}")
        except ValueError as fault:
            return self._fault(message, _WRONG, f"The message cannot be carried ({fault}).")
        return self._answer(message, status, answer)

    def _client(self) -> Client:
        held = getattr(self._local, "client", None)
        if held is None:
            held = self._local.client = self._reach()
        client: Client = held
        return client

    def _headers(self, message: Item) -> dict[str, str]:
        found = message.get("params")
        params: Item = found if isinstance(found, dict) else {}
        method = str(message.get("method", ""))
        headers = {SESSION_HEADER: self._session} if self._session else {}
        meta = params.get("_meta")
        version = meta.get(_VERSION) if isinstance(meta, dict) else None
        if isinstance(version, str):
            headers |= {"MCP-Protocol-Version": version, "Mcp-Method": method}
            name = params.get(_NAMED_BY.get(method, ""))
            return headers | ({"Mcp-Name": name} if isinstance(name, str) else {})
        is_later = bool(self._version) and method != "initialize"
        return headers | ({"MCP-Protocol-Version": self._version} if is_later else {})

    def _answer(self, message: Item, status: int, answer: bytes) -> str:
        if not answer.strip():
            return "" if status < 400 else self._fault(message, _NOT_CARRIED, f"The server answered {status}.")
        try:
            told = json.loads(answer)
        except ValueError:
            return self._fault(message, _NOT_CARRIED, f"The server answered {status}, but not as MCP does.")
        if not isinstance(told, dict) or "jsonrpc" not in told:
            refusal = told.get("error") if isinstance(told, dict) else None
            why = refusal.get("message") if isinstance(refusal, dict) else f"The server answered {status}."
            return self._fault(message, _NOT_CARRIED, str(why), told)
        result = told.get("result")
        if message.get("method") == "initialize" and isinstance(result, dict):
            self._version = str(result.get("protocolVersion", ""))
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    def _fault(self, message: Item, code: int, why: str, more: object = None) -> str:
        # A message without an id waits for no answer, not even for this one.
        return _told(message["id"], code, why, more) if "id" in message else ""


def _told(message_id: object, code: int, why: str, more: object = None) -> str:
    error: Item = {"code": code, "message": why} | ({"data": more} if more is not None else {})
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error}, ensure_ascii=False)
