"""From JSON to the protocol's own request types: strict where a slip would change the meaning, else as A2A wants it."""

import re
from typing import Any, TypeVar

import a2a.types as wire
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message as WireType

from carrel.surfaces.a2a.errors import wrong
from carrel.surfaces.a2a.rendering import Json

R = TypeVar("R", bound=WireType)
_NESTING_MAX = 60
_FIELD = re.compile(r"Failed to parse (\w+) field")
_OWN_SCOPES = ("", "task")
_SCOPE_NAMES = ("opt/v1/historyScope", "historyScope")


def read_params(kind: type[R], params: object) -> R:
    """The params as a request; fields it does not know are ignored, values it cannot hold are refused by name."""
    if not isinstance(params, dict):
        raise wrong("params", "params is an object.")
    try:
        request: R = ParseDict(params, kind(), ignore_unknown_fields=True, max_recursion_depth=_NESTING_MAX)
    except ParseError as error:
        raise wrong(".".join(_FIELD.findall(str(error))) or "params", f"{_last_words(error)}.") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise wrong("params", f"These params cannot be read ({type(error).__name__}).") from error
    _check(request, params)
    return request


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


def _last_words(error: ParseError) -> str:
    return str(error).rpartition("field: ")[2].rstrip(".")[:300]


def _check(request: Any, params: Json) -> None:
    match request:
        case wire.SendMessageRequest():
            if not request.HasField("message"):
                raise wrong("message", "message is missing.")
        case wire.GetTaskRequest():
            _need("id", request.id)
            check_scope(params.get("metadata"))
        case wire.CancelTaskRequest() | wire.SubscribeToTaskRequest():
            _need("id", request.id)
        case wire.ListTasksRequest():
            # A state that nobody knows would otherwise ask for every task.
            if params.get("status") not in (None, "", 0, "TASK_STATE_UNSPECIFIED") and not request.status:
                raise wrong("status", f"There is no state {str(params['status'])[:80]}.")
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
