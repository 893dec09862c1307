"""From JSON or bytes to the protocol's requests: strict where a slip would change the meaning, else as A2A wants."""

import re
from typing import Any, TypeVar

import a2a.types as wire
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as WireType

from carrel.surfaces.a2a.errors import wrong
from carrel.surfaces.a2a.json_limits import check_extent
from carrel.surfaces.a2a.json_shapes import check_shape
from carrel.surfaces.a2a.task_view import Json

R = TypeVar("R", bound=WireType)
_FIELD = re.compile(r"Failed to parse (\w+) field")
_PATH = re.compile(r" at \w+\.([\w.\[\]]*\w)\.*$")
_OWN_SCOPES = ("", "task")
_SCOPE_NAMES = ("opt/v1/historyScope", "historyScope")


def read_params(kind: type[R], params: object) -> R:
    """The params as a request; fields it does not know are ignored, values it cannot hold are refused by name."""
    check_extent(params)
    shaped = check_shape(kind.DESCRIPTOR, params)
    try:
        request: R = ParseDict(shaped, kind(), ignore_unknown_fields=True)
    except ParseError as error:
        raise wrong(_place_of(error), f"{_last_words(error)}.") from error
    except (ValueError, OverflowError) as error:
        raise wrong("params", f"These params cannot be read ({type(error).__name__}).") from error
    _check_unread(request, shaped)
    check_request(request)
    return request


def read_bytes(kind: type[R], raw: bytes) -> R:
    """The bytes as a request, as gRPC sends it; `check_request` is still to come."""
    try:
        return kind.FromString(raw)
    except DecodeError as error:
        raise wrong("request", f"This is no {kind.DESCRIPTOR.name}.") from error


def as_json(message: WireType) -> Json:
    """A message of the protocol as JSON, with whole numbers as they were written: protobuf knows fractions only."""
    found: Json = whole_numbers(MessageToDict(message))
    return found


def whole_numbers(value: Any) -> Any:
    """JSON with fractions of nothing written as whole numbers."""
    match value:
        case dict():
            return {name: whole_numbers(inner) for name, inner in value.items()}
        case list():
            return [whole_numbers(inner) for inner in value]
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case _:
            return value


def _place_of(error: ParseError) -> str:
    """The path of what is wrong, as far as the library tells it."""
    told = _PATH.search(str(error))
    return ".".join(re.findall(r"\w+", told[1]) if told else _FIELD.findall(str(error))) or "params"


def _last_words(error: ParseError) -> str:
    return str(error).rpartition("field: ")[2].rstrip(".")[:300]


def _check_unread(request: Any, params: Json) -> None:
    """Refuse what the request's type has no place for, though it would change the meaning."""
    match request:
        case wire.GetTaskRequest():
            check_scope(params.get("metadata"))
        case wire.ListTasksRequest():
            # A state that nobody knows would otherwise ask for every task.
            if params.get("status") not in (None, "", 0, "TASK_STATE_UNSPECIFIED") and not request.status:
                raise wrong("status", f"There is no state {str(params['status'])[:80]}.")


def check_request(request: Any) -> None:
    """Refuse a request that lacks what it needs, naming the field."""
    match request:
        case wire.SendMessageRequest():
            if not request.HasField("message"):
                raise wrong("message", "message is missing.")
        case wire.GetTaskRequest() | wire.CancelTaskRequest() | wire.SubscribeToTaskRequest():
            _need("id", request.id)
        case wire.ListTasksRequest():
            # A number may stand for a state, and one that nobody knows would ask for every task, too.
            if request.status not in wire.TaskState.values():
                raise wrong("status", f"There is no state {request.status}.")
        case wire.TaskPushNotificationConfig():
            _need("taskId", request.task_id)
            _need("url", request.url)
        case wire.GetTaskPushNotificationConfigRequest() | wire.DeleteTaskPushNotificationConfigRequest():
            _need("taskId", request.task_id)
            _need("id", request.id)
        case wire.ListTaskPushNotificationConfigsRequest():
            _need("taskId", request.task_id)


def _need(name: str, value: str) -> None:
    if not value:
        raise wrong(name, f"{name} is missing.")


def check_scope(metadata: object) -> None:
    """Refuse a history beyond the task itself: no task belongs to a plan or an objective here."""
    named = [metadata.get(name) for name in _SCOPE_NAMES] if isinstance(metadata, dict) else []
    if any(scope not in (*_OWN_SCOPES, None) for scope in named):
        raise wrong("metadata.historyScope", "The history of this task reaches no further than the task itself.")
