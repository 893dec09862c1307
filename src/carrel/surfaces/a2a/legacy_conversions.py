"""Conversions of A2A 0.3: params to a 1.0 request, and the 1.0 result back, over JSON-RPC and HTTP.

The SDK does them; this module says which belong to which method. HTTP has the JSON of 0.3's own protobuf types, which
the official 0.3 client uses.
"""

from collections.abc import Callable
from typing import Any

import a2a.types as wire
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old_wire
from a2a.compat.v0_3 import conversions as convert
from a2a.compat.v0_3 import types as old
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from google.protobuf.json_format import ParseDict
from pydantic import BaseModel, ValidationError

from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import Json, check_base64, check_json_limits, to_json, with_integers
from carrel.surfaces.a2a.requests import check_request, parse_params
from carrel.surfaces.a2a.task_json import SETTLED

Writer = Callable[[Json], object]


def _parse(kind: type[BaseModel], params: object) -> Any:
    """Parse params of 0.3; the error for invalid ones names the field."""
    check_json_limits(params)
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        field, problem = _first_error(error)
        raise invalid_params(field, f"{problem}.") from error


def _first_error(error: ValidationError) -> tuple[str, str]:
    """Return the path of the first invalid field, and what is wrong with it."""
    errors = error.errors()
    # A part is tried as every kind of part; ignore the errors about all other kinds.
    others = [one["loc"][:-1] for one in errors if one["type"] == "literal_error" and one["loc"][-1] == "kind"]
    first = next((one for one in errors if not any(one["loc"][: len(other)] == other for other in others)), errors[0])
    # The path also has the class names of the kinds that were tried.
    return ".".join(str(name) for name in first["loc"] if not str(name)[:1].isupper()) or "params", first["msg"]


def _reader(request_kind: Any, to_core: Callable[[Any], Any]) -> Callable[[object], Any]:
    """Return what reads the params of a request of 0.3 and converts it."""
    params_kind = request_kind.model_fields["params"].annotation

    def read(params: object) -> Any:
        parsed = _parse(params_kind, params)
        _check_unchecked(parsed)
        try:
            return to_core(request_kind(id=0, params=parsed))
        except ValueError as error:
            raise invalid_params("params", f"These params cannot be read ({str(error)[:200]}).") from error

    return read


def _check_unchecked(parsed: Any) -> None:
    """Refuse what the SDK does not check, or only while converting and without naming the field."""
    match parsed:
        case old.TaskQueryParams():
            _check_length(parsed.history_length, "historyLength")
        case old.MessageSendParams():
            if parsed.configuration is not None:
                _check_length(parsed.configuration.history_length, "configuration.historyLength")
            for n, part in enumerate(parsed.message.parts):
                file = part.root.file if isinstance(part.root, old.FilePart) else None
                if isinstance(file, old.FileWithBytes):
                    check_base64(file.bytes, f"message.parts.{n}.file.bytes", padded=True)


def _check_length(length: int | None, field: str) -> None:
    if length is not None and not 0 <= length < 2**31:
        raise invalid_params(field, f"{field} must be between 0 and 2147483647.")


def _read_list(params: object) -> Any:
    """Parse a list request as in 1.0, because 0.3 has none, with states as 0.3 spells them."""
    if isinstance(params, dict) and isinstance(params.get("status"), str) and params["status"]:
        state = params["status"].upper().replace("-", "_")
        params = params | {"status": state if state.startswith("TASK_STATE_") else f"TASK_STATE_{state}"}
    return parse_params(wire.ListTasksRequest, params)


def _read_push_config(params: object) -> Any:
    parsed = _parse(old.GetTaskPushNotificationConfigParams, params)
    return wire.GetTaskPushNotificationConfigRequest(task_id=parsed.id, id=parsed.push_notification_config_id or "")


_send = _reader(old.SendMessageRequest, convert.to_core_send_message_request)

# How JSON-RPC reads the params of each operation.
RPC_READERS: dict[str, Callable[[object], Any]] = {
    "SendMessage": _send,
    "SendStreamingMessage": _send,
    "GetTask": _reader(old.GetTaskRequest, convert.to_core_get_task_request),
    "ListTasks": _read_list,
    "CancelTask": _reader(old.CancelTaskRequest, convert.to_core_cancel_task_request),
    "SubscribeToTask": _reader(old.TaskResubscriptionRequest, convert.to_core_subscribe_to_task_request),
    "CreateTaskPushNotificationConfig": _reader(
        old.SetTaskPushNotificationConfigRequest, convert.to_core_create_task_push_notification_config_request
    ),
    "GetTaskPushNotificationConfig": _read_push_config,
    "ListTaskPushNotificationConfigs": _reader(
        old.ListTaskPushNotificationConfigRequest, convert.to_core_list_task_push_notification_config_request
    ),
    "DeleteTaskPushNotificationConfig": _reader(
        old.DeleteTaskPushNotificationConfigRequest, convert.to_core_delete_task_push_notification_config_request
    ),
    "GetExtendedAgentCard": lambda _params: wire.GetExtendedAgentCardRequest(),
}


def _read_sent(_task_id: str, body: object) -> wire.SendMessageRequest:
    parsed = parse_params(old_wire.SendMessageRequest, body)
    try:
        params = FromProto.message_send_params(parsed)
        return convert.to_core_send_message_request(old.SendMessageRequest(id=0, params=params))
    except ValueError as error:
        raise invalid_params("message", f"This message cannot be read ({str(error)[:200]}).") from error


def _read_new_config(task_id: str, body: object) -> wire.TaskPushNotificationConfig:
    parsed = parse_params(old_wire.CreateTaskPushNotificationConfigRequest, body)
    config = FromProto.push_notification_config(parsed.config.push_notification_config)
    task_config = old.TaskPushNotificationConfig(task_id=task_id, push_notification_config=config)
    request = convert.to_core_task_push_notification_config(task_config)
    check_request(request)
    return request


# How HTTP reads a body in 0.3's own form, with the task in the URL, by operation.
HTTP_READERS: dict[str, Callable[[str, object], Any]] = {
    "SendMessage": _read_sent,
    "SendStreamingMessage": _read_sent,
    "CreateTaskPushNotificationConfig": _read_new_config,
}


def _task(task: Json) -> old.Task:
    return convert.to_compat_task(ParseDict(task, wire.Task()))


def _update(update: Json) -> Any:
    event = convert.to_compat_stream_response(ParseDict(update, wire.StreamResponse()), 0).result
    if isinstance(event, old.TaskStatusUpdateEvent):
        # Streams end at a question as well.
        event.final = update["statusUpdate"]["status"]["state"] in SETTLED
    return event


def _push_config(config: Json) -> old.TaskPushNotificationConfig:
    return convert.to_compat_task_push_notification_config(ParseDict(config, wire.TaskPushNotificationConfig()))


def _dump(value: BaseModel) -> Json:
    written: Json = with_integers(value.model_dump(mode="json", by_alias=True, exclude_none=True))
    return written


def write_card(card: Json) -> Json:
    converted: Json = convert.to_compat_agent_card(ParseDict(card, wire.AgentCard())).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return converted


def write_task(task: Json) -> Json:
    """Return a task as JSON-RPC of 0.3 has it."""
    return _dump(_task(task))


def _writers(sent: Writer, task: Writer, update: Writer, config: Writer) -> dict[str, Writer]:
    """Return how the result of each operation is written, from how its parts are."""
    return {
        "SendMessage": lambda result: sent(result["task"]),
        "SendStreamingMessage": update,
        "GetTask": task,
        "ListTasks": lambda result: result | {"tasks": [*map(task, result["tasks"])]},
        "CancelTask": task,
        "SubscribeToTask": update,
        "CreateTaskPushNotificationConfig": config,
        "GetTaskPushNotificationConfig": config,
        "ListTaskPushNotificationConfigs": lambda result: {"configs": [*map(config, result["configs"])]},
        "DeleteTaskPushNotificationConfig": lambda _: {},
        "GetExtendedAgentCard": write_card,
    }


RPC_WRITERS = _writers(
    write_task, write_task, lambda update: _dump(_update(update)), lambda config: _dump(_push_config(config))
) | {
    "ListTaskPushNotificationConfigs": lambda result: [_dump(_push_config(config)) for config in result["configs"]],
    "DeleteTaskPushNotificationConfig": lambda _: None,
}
HTTP_WRITERS = _writers(
    lambda task: to_json(ToProto.task_or_message(_task(task))),
    lambda task: to_json(ToProto.task(_task(task))),
    lambda update: to_json(ToProto.stream_response(_update(update))),
    lambda config: to_json(ToProto.task_push_notification_config(_push_config(config))),
)
