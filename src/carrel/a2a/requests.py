"""The client side of A2A without a connection: builds requests as values and reads responses from bytes."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from carrel.a2a.card import JSON_RPC, A2aInterface
from carrel.a2a.shapes import Item, items_of, read_event, read_task, short_state, write_message_03

_segment = partial(quote, safe="")
_METHODS_03 = {
    "SendMessage": "message/send",
    "SendStreamingMessage": "message/stream",
    "GetTask": "tasks/get",
    "ListTasks": "tasks/list",
    "CancelTask": "tasks/cancel",
}
_REASONS = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL",
    -32001: "TASK_NOT_FOUND",
    -32002: "TASK_NOT_CANCELABLE",
    -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    -32004: "UNSUPPORTED_OPERATION",
    -32005: "CONTENT_TYPE_NOT_SUPPORTED",
    -32006: "INVALID_AGENT_RESPONSE",
    -32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    -32008: "EXTENSION_SUPPORT_REQUIRED",
    -32009: "VERSION_NOT_SUPPORTED",
}


class A2aFault(Exception):
    """An error response, with the HTTP status, the protocol's reason and the server's message.

    An empty `reason` means that the response is not A2A at all, and `message` says what is wrong with it.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


class A2aRequest(Struct, frozen=True, kw_only=True):
    """One HTTP request; the sender adds the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class A2aCodec:
    """Builds the requests for one interface and reads its responses, in the form of A2A 1.0."""

    def __init__(self, interface: A2aInterface) -> None:
        self.interface = interface
        self._is_rpc = interface.binding == JSON_RPC
        self._is_old = interface.version == "0.3"

    def send(self, message: Item, *, stream: bool = False, wait: bool = True) -> A2aRequest:
        """Build a send; `wait` asks the server to respond only once the task has ended or waits for input."""
        if self._is_old:
            body: Item = {"message": write_message_03(message), "configuration": {"blocking": wait}}
        else:
            body = {"message": message, "configuration": {"returnImmediately": not wait}}
        method, path = ("SendStreamingMessage", ":stream") if stream else ("SendMessage", ":send")
        return self._request(method, body, "POST", f"/message{path}", stream=stream)

    def get(self, task_id: str, *, history: int | None = None) -> A2aRequest:
        """Build a read of one task, with up to `history` of its newest messages."""
        given = {} if history is None else {"historyLength": history}
        return self._request("GetTask", {"id": task_id} | given, "GET", f"/tasks/{_segment(task_id)}", given)

    def list(self, filters: Item) -> A2aRequest:
        if self._is_old and "status" in filters:
            filters = filters | {"status": short_state(filters["status"])}
        return self._request("ListTasks", filters, "GET", "/tasks", filters)

    def cancel(self, task_id: str) -> A2aRequest:
        return self._request("CancelTask", {"id": task_id}, "POST", f"/tasks/{_segment(task_id)}:cancel")

    def read_sent(self, status: int, body: bytes) -> Item:
        """Return the result of a send: `{"task": …}` or `{"message": …}`."""
        event = read_event(self.read(status, body))
        if not event:
            raise A2aFault(status, "", "it has neither a task nor a message.")
        return event

    def read_task(self, status: int, body: bytes) -> Item:
        return read_task(self.read(status, body))

    def read_list(self, status: int, body: bytes) -> Item:
        page = self.read(status, body)
        return page | {"tasks": [read_task(task) for task in items_of(page.get("tasks"))]}

    def read_event_text(self, text: str) -> Item:
        """Return the event in the text of a stream frame; empty if there is none, as in a ping."""
        return self.read_event(_parsed(text)) if text.strip() else {}

    def read_event(self, value: Any) -> Item:
        """Return the event in a stream frame whose JSON is already parsed."""
        return read_event(self._result(200, value))

    def read(self, status: int, body: bytes) -> Item:
        """Return the result in a response; raise A2aFault if it is an error or not A2A."""
        return self._result(status, _parsed(body))

    def _result(self, status: int, value: Any) -> Item:
        error = value.get("error") if isinstance(value, dict) else None
        if isinstance(error, dict):
            raise _fault(status, error)
        if status >= 300:
            raise A2aFault(status, "", f"it is HTTP {status} without a reason.")
        result = value.get("result") if self._is_rpc and isinstance(value, dict) else value
        if not isinstance(result, dict):
            raise A2aFault(status, "", "it is not an A2A response.")
        return result

    def _request(
        self, name: str, params: Item, method: str, path: str, query: Item | None = None, *, stream: bool = False
    ) -> A2aRequest:
        """Build one operation: by name for JSON-RPC, by method, path and query for HTTP+JSON."""
        accept = "text/event-stream, application/json" if stream else "application/json, application/a2a+json"
        headers = {"A2A-Version": self.interface.version, "Accept": accept, "Content-Type": "application/json"}
        tenant = self.interface.tenant
        if self._is_rpc:
            call: Item = {"jsonrpc": "2.0", "id": "1", "method": _METHODS_03[name] if self._is_old else name}
            call["params"] = params | ({"tenant": tenant} if tenant and not self._is_old else {})
            return A2aRequest(method="POST", url=self.interface.url, headers=headers, body=_json(call))
        base = self.interface.url.rstrip("/") + (f"/{_segment(tenant)}" if tenant else "")
        if method == "GET":
            given = query or {}
            plain = {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
            search = f"?{urlencode(plain)}" if plain else ""
            return A2aRequest(method=method, url=base + path + search, headers=headers)
        return A2aRequest(method=method, url=base + path, headers=headers, body=_json(params))


def _fault(status: int, error: Item) -> A2aFault:
    code = error.get("code")
    details = items_of(error.get("data")) or items_of(error.get("details"))
    given = [one["reason"] for one in details if isinstance(one.get("reason"), str)]
    by_code = _REASONS.get(code) if isinstance(code, int) else None
    reason = (given[0] if given else "") or by_code or str(error.get("status") or code or "ERROR")
    return A2aFault(status, reason, str(error.get("message") or reason))


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
