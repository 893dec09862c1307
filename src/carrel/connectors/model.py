"""A server's tools, the results of calls, and the state of servers, as values."""

from typing import Any, Generic, Literal

from msgspec import Struct

from carrel.kernel import NewAttachment, Shape, When


class RemoteTool(Struct, frozen=True, kw_only=True):
    """A tool of a server: its own name, the name under which it is offered, and its description.

    `digest` changes whenever the server's description changes.
    """

    server: str
    name: str
    offered_as: str
    description: str
    schema: dict[str, Any]
    effect: Literal["read", "write"]
    digest: str


class ToolList:
    """What a server offered at one moment. Two lists are the same only if they are one object."""

    def __init__(self, server: str, tools: tuple[RemoteTool, ...]) -> None:
        self.server = server
        self.tools = tools


class CallResult(Struct, frozen=True, kw_only=True):
    """The result of a call: the value for the model, and files."""

    value: dict[str, Any]
    files: tuple[NewAttachment, ...] = ()


class CallFailed(Exception):
    """A call has no result. `is_unknown`: it may have taken effect all the same."""

    def __init__(self, message: str, *, is_unknown: bool) -> None:
        super().__init__(message)
        self.message = message
        self.is_unknown = is_unknown


class ConnectorFields(Shape, Generic[When], frozen=True, kw_only=True):
    """A server as people see it; `idle` until its tools are first needed.

    `tools` counts the offered ones, and `left_out` says which are not offered, and why.
    """

    name: str
    kind: Literal["command", "url"]
    status: Literal["idle", "starting", "ok", "failed"]
    since: When
    tools: int
    starts: int
    left_out: tuple[str, ...] = ()
    last_error: str | None = None


class ConnectorState(ConnectorFields[int], frozen=True, kw_only=True):
    """A server, with its command line or URL, for the operator, and the accounts that may use it."""

    address: str
    accounts: tuple[str, ...]
