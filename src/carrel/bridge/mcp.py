"""A relay of MCP messages to a Carrel server, for programs that speak MCP over stdio.

It reads only as much of a message as the HTTP headers need: the version, the method and the name.
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
_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_RELAY_FAILED, _INVALID_REQUEST, _PARSE_ERROR = -32000, -32600, -32700

Item = dict[str, Any]


class McpRelay:
    """Relays messages, from several threads at once if needed; each has its own connection."""

    def __init__(self, connect: Callable[[], Client], session: str = "") -> None:
        self._connect = connect
        self._session = session
        # Negotiated by `initialize`; later messages do not repeat it.
        self._version = ""
        self._local = threading.local()

    def send(self, line: str) -> str:
        """Send one message and return the response as one line; empty if there is none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE_ERROR, "This line is not valid JSON.")
        if not isinstance(message, dict):
            return _error(None, _INVALID_REQUEST, "Send one message per line, as a JSON object.")
        body, headers = line.encode("utf-8", "replace"), self._headers(message)
        try:
            client: Client = getattr(self._local, "client", None) or self._connect()
            self._local.client = client
            status, answer = client.post_raw(PATH, body, headers, timeout_seconds=ANSWER_SECONDS)
        except BridgeFault as fault:
            self._local.client = None
            hint = " Start one with `carrel up`." if isinstance(fault, NotReachable) else ""
            return self._failure(message, _RELAY_FAILED, f"{fault}{hint}")
        except ValueError as fault:
            return self._failure(message, _INVALID_REQUEST, f"The message cannot be sent ({fault}).")
        return self._response(message, status, answer)

    def _headers(self, message: Item) -> dict[str, str]:
        method = str(message.get("method", ""))
        headers = {SESSION_HEADER: self._session} if self._session else {}
        match message.get("params"):
            case {"_meta": {"io.modelcontextprotocol/protocolVersion": str(version)}, **params}:
                headers |= {"MCP-Protocol-Version": version, "Mcp-Method": method}
                name = params.get(_NAME_PARAMS.get(method, ""))
                return headers | ({"Mcp-Name": name} if isinstance(name, str) else {})
        is_later = bool(self._version) and method != "initialize"
        return headers | ({"MCP-Protocol-Version": self._version} if is_later else {})

    def _response(self, message: Item, status: int, answer: bytes) -> str:
        if not answer.strip():
            return "" if status < 400 else self._failure(message, _RELAY_FAILED, f"The server responded with {status}.")
        try:
            parsed = json.loads(answer)
        except ValueError:
            return self._failure(message, _RELAY_FAILED, f"The server responded with {status}, but not with MCP.")
        if not isinstance(parsed, dict) or "jsonrpc" not in parsed:
            refusal = parsed.get("error") if isinstance(parsed, dict) else None
            why = refusal.get("message") if isinstance(refusal, dict) else f"The server responded with {status}."
            return self._failure(message, _RELAY_FAILED, str(why), parsed)
        result = parsed.get("result")
        if message.get("method") == "initialize" and isinstance(result, dict):
            self._version = str(result.get("protocolVersion", ""))
        return json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))

    def _failure(self, message: Item, code: int, why: str, more: object = None) -> str:
        # A message without an id is a notification, which gets no response.
        return _error(message["id"], code, why, more) if "id" in message else ""


def _error(message_id: object, code: int, why: str, more: object = None) -> str:
    error: Item = {"code": code, "message": why} | ({"data": more} if more is not None else {})
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error}, ensure_ascii=False)
