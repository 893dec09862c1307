"""Speaking A2A as a client, without a connection: requests as values, and answers from their bytes.

Whoever has a connection sends the request and hands the bytes back; what is built here works for any of them.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from carrel.a2a.card import JSON_RPC, A2aInterface
from carrel.a2a.shapes import Item, items_of, read_event, read_task, state_word, write_message_03

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
    """An answer that is a refusal or none at all: the HTTP status, the protocol's reason and what the server said.

    Without a `reason` it is no answer of this protocol, and `message` says what is wrong with it.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


class A2aRequest(Struct, frozen=True, kw_only=True):
    """One HTTP request; who sends it adds the credential."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class A2aSpeech:
    """How to say things at one interface, and how to read what it says."""

    def __init__(self, interface: A2aInterface) -> None:
        self.interface = interface
        self._is_rpc = interface.binding == JSON_RPC
        self._is_old = interface.version == "0.3"

    def send(self, message: Item, *, stream: bool = False, wait: bool = True) -> A2aRequest:
        """Say something; `wait` asks the server to answer only when the work rests."""
        if self._is_old:
            body: Item = {"message": write_message_03(message), "configuration": {"blocking": wait}}
        else:
            body = {"message": message, "configuration": {"returnImmediately": not wait}}
        method, path = ("SendStreamingMessage", ":stream") if stream else ("SendMessage", ":send")
        return self._ask(method, body, "POST", f"/message{path}", stream=stream)

    def get(self, task_id: str, *, history: int | None = None) -> A2aRequest:
        """Look at a task, with its newest messages where a number is given."""
        given = {} if history is None else {"historyLength": history}
        return self._ask("GetTask", {"id": task_id} | given, "GET", f"/tasks/{_segment(task_id)}", given)

    def list(self, filters: Item) -> A2aRequest:
        """Look at the caller's tasks."""
        if self._is_old and "status" in filters:
            filters = filters | {"status": state_word(filters["status"])}
        return self._ask("ListTasks", filters, "GET", "/tasks", filters)

    def cancel(self, task_id: str) -> A2aRequest:
        """Ask for a task to be cancelled."""
        return self._ask("CancelTask", {"id": task_id}, "POST", f"/tasks/{_segment(task_id)}:cancel")

    def read_sent(self, status: int, body: bytes) -> Item:
        """What a send gave back: `{"task": …}` or `{"message": …}`."""
        event = read_event(self.read(status, body))
        if not event:
            raise A2aFault(status, "", "it holds neither a task nor a message.")
        return event

    def read_task(self, status: int, body: bytes) -> Item:
        """The task in an answer."""
        return read_task(self.read(status, body))

    def read_list(self, status: int, body: bytes) -> Item:
        """The tasks in an answer, and where the next page begins."""
        told = self.read(status, body)
        return told | {"tasks": [read_task(task) for task in items_of(told.get("tasks"))]}

    def read_streamed(self, text: str) -> Item:
        """One item of a stream; empty for what is none, such as a ping."""
        return self.read_told(_parsed(text)) if text.strip() else {}

    def read_told(self, told: Any) -> Item:
        """The same, parsed already."""
        return read_event(self._result(200, told))

    def read(self, status: int, body: bytes) -> Item:
        """The result in an answer; A2aFault when it tells an error or is no answer of this protocol."""
        return self._result(status, _parsed(body))

    def _result(self, status: int, told: Any) -> Item:
        error = told.get("error") if isinstance(told, dict) else None
        if isinstance(error, dict):
            raise _fault(status, error)
        if status >= 300:
            raise A2aFault(status, "", f"it is HTTP {status} without a reason.")
        result = told.get("result") if self._is_rpc and isinstance(told, dict) else told
        if not isinstance(result, dict):
            raise A2aFault(status, "", "it is none of the A2A protocol.")
        return result

    def _ask(
        self, name: str, params: Item, method: str, path: str, query: Item | None = None, *, stream: bool = False
    ) -> A2aRequest:
        """The request of one operation: by name over JSON-RPC, by method, path and query over HTTP+JSON."""
        accept = "text/event-stream, application/json" if stream else "application/json, application/a2a+json"
        headers = {"A2A-Version": self.interface.version, "Accept": accept, "Content-Type": "application/json"}
        tenant = self.interface.tenant
        if self._is_rpc:
            named = _METHODS_03[name] if self._is_old else name
            whole = {"jsonrpc": "2.0", "id": "1", "method": named, "params": params}
            if tenant and not self._is_old:
                whole["params"] = params | {"tenant": tenant}
            return A2aRequest(method="POST", url=self.interface.url, headers=headers, body=_json(whole))
        base = self.interface.url.rstrip("/") + (f"/{_segment(tenant)}" if tenant else "")
        if method == "GET":
            asked = "?" + urlencode({key: _plain(value) for key, value in query.items()}) if query else ""
            return A2aRequest(method=method, url=base + path + asked, headers=headers)
        return A2aRequest(method=method, url=base + path, headers=headers, body=_json(params))


def _fault(status: int, error: Item) -> A2aFault:
    code = error.get("code")
    details = items_of(error.get("data")) or items_of(error.get("details"))
    named = [one["reason"] for one in details if isinstance(one.get("reason"), str)]
    known = _REASONS.get(code) if isinstance(code, int) else None
    reason = (named[0] if named else "") or known or str(error.get("status") or code or "ERROR")
    return A2aFault(status, reason, str(error.get("message") or reason))


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _segment(text: str) -> str:
    return quote(text, safe="")


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
