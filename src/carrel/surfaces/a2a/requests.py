"""Parse requests from JSON and check them, strictly where a mistake would change their meaning."""

import re
from typing import Any, Literal, TypeVar, cast, get_args

import a2a.types as wire
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import Json, check_json_limits, check_shape, required_fields

R = TypeVar("R", bound=Message)
_FIELD = re.compile(r"Failed to parse (\w+) field")
_PATH = re.compile(r" at \w+\.([\w.\[\]]*\w)\.*$")
HistoryScope = Literal["task", "plan", "objective"]
_SCOPES = get_args(HistoryScope)
_SCOPE_NAMES = ("opt/v1/historyScope", "historyScope")


def parse_params(kind: type[R], params: object) -> R:
    """Parse JSON as a request; unknown fields are ignored, invalid values are refused by name."""
    check_json_limits(params)
    shaped = check_shape(kind.DESCRIPTOR, params)
    try:
        request: R = ParseDict(shaped, kind(), ignore_unknown_fields=True)
    except ParseError as error:
        reason = str(error).rpartition("field: ")[2].rstrip(".")[:300]
        # The path of the invalid value, as far as the library gives it.
        path = _PATH.search(str(error))
        names = re.findall(r"\w+", path[1]) if path else _FIELD.findall(str(error))
        raise invalid_params(".".join(names) or "params", f"{reason}.") from error
    except (ValueError, OverflowError) as error:
        raise invalid_params("params", f"These params cannot be read ({type(error).__name__}).") from error
    _check_dropped(request, shaped)
    check_request(request)
    return request


def _check_dropped(request: Any, params: Json) -> None:
    """Refuse values that parsing has dropped although they would change the meaning."""
    match request:
        case wire.SendMessageRequest():
            for n, part in enumerate((params.get("message") or {}).get("parts") or []):
                # The library takes `"data": null` for data that is null, and drops what came before it.
                if "data" in part and any(part.get(name) is not None for name in ("text", "raw", "url")):
                    raise invalid_params(f"message.parts.{n}", "A part needs one of text, raw, url and data.")
        case wire.ListTasksRequest():
            # An unknown state is dropped, and the request would ask for every task.
            if params.get("status") not in (None, "", 0, "TASK_STATE_UNSPECIFIED") and not request.status:
                raise invalid_params("status", f"There is no state {str(params['status'])[:80]}.")


def check_request(request: Any) -> None:
    """Refuse a request that lacks a field that the protocol requires, and a state that it does not know."""
    if request.DESCRIPTOR.file != a2a_pb2.DESCRIPTOR:
        # A type of 0.3 has other names; it is checked after its conversion.
        return
    given = {field.name for field, _ in request.ListFields()}
    needed = [(field.name, field.json_name) for field in required_fields(request.DESCRIPTOR)]
    if isinstance(request, wire.TaskPushNotificationConfig):
        # A config within a message needs none: it is for the message's own task.
        needed.insert(0, ("task_id", "taskId"))
    for name, shown in needed:
        if name not in given:
            raise invalid_params(shown, f"{shown} is missing.")
    # A state may also come as a number, and an unknown one would ask for every task too.
    if isinstance(request, wire.ListTasksRequest) and request.status not in wire.TaskState.values():
        raise invalid_params("status", f"There is no state {request.status}.")


def read_scope(metadata: object) -> HistoryScope:
    given = [metadata.get(name) for name in _SCOPE_NAMES] if isinstance(metadata, dict) else []
    wanted = next((scope for scope in given if scope not in (None, "")), "task")
    if wanted in _SCOPES:
        return cast(HistoryScope, wanted)
    raise invalid_params("metadata.historyScope", "The history scope must be task, plan or objective.")
