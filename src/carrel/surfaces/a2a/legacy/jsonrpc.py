"""A2A 0.3 over JSON-RPC: its methods, their params made 1.0 requests, and 1.0 answers said in its words.

The conversions are those of the protocol's own library; here stands only which of them goes with which method.
"""

from collections.abc import Callable
from typing import Any

import a2a.types as wire
from a2a.compat.v0_3 import conversions as convert
from a2a.compat.v0_3 import types as old
from google.protobuf.json_format import ParseDict
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from carrel.surfaces.a2a.cards import legacy_card
from carrel.surfaces.a2a.errors import wrong
from carrel.surfaces.a2a.json_limits import check_extent
from carrel.surfaces.a2a.json_shapes import check_base64
from carrel.surfaces.a2a.params import read_params, whole_numbers
from carrel.surfaces.a2a.task_view import RESTING, Json


class Legacy(Struct, frozen=True):
    """One method of 0.3: the operation it is, how its params are read and how its result is written."""

    operation: str
    read: Callable[[object], Any]
    write: Callable[[Json], object]


def dump(value: BaseModel) -> Json:
    """A value of 0.3 as JSON."""
    found: Json = whole_numbers(value.model_dump(mode="json", by_alias=True, exclude_none=True))
    return found


def read_old(kind: type[BaseModel], params: object) -> Any:
    """Params as 0.3 has them, with the field named that is wrong."""
    check_extent(params)
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        field, words = _first_wrong(error)
        raise wrong(field, f"{words}.") from error


def _first_wrong(error: ValidationError) -> tuple[str, str]:
    """The path of the first thing that is wrong, and what is."""
    found = error.errors()
    # A part is tried as each kind there is: what it lacks as one that it is not says nothing.
    others = [one["loc"][:-1] for one in found if one["type"] == "literal_error" and one["loc"][-1] == "kind"]
    first = next((one for one in found if not any(one["loc"][: len(other)] == other for other in others)), found[0])
    # Between the names of fields stand those of the kinds that were tried.
    return ".".join(str(name) for name in first["loc"] if not str(name)[:1].isupper()) or "params", first["msg"]


def _reader(params_kind: type[BaseModel], request_kind: Any, to_core: Callable[[Any], Any]) -> Callable[[object], Any]:
    def read(params: object) -> Any:
        asked = read_old(params_kind, params)
        _check_unchecked(asked)
        try:
            return to_core(request_kind(id=0, params=asked))
        except ValueError as error:
            raise wrong("params", f"These params cannot be read ({str(error)[:200]}).") from error

    return read


def _check_unchecked(asked: Any) -> None:
    """Refuse what the library notices only when it converts, without a name, or not at all."""
    match asked:
        case old.TaskQueryParams():
            _check_length(asked.history_length, "historyLength")
        case old.MessageSendParams():
            if asked.configuration is not None:
                _check_length(asked.configuration.history_length, "configuration.historyLength")
            for n, part in enumerate(asked.message.parts):
                file = part.root.file if isinstance(part.root, old.FilePart) else None
                if isinstance(file, old.FileWithBytes):
                    check_base64(file.bytes, f"message.parts.{n}.file.bytes", padded=True)


def _check_length(length: int | None, field: str) -> None:
    if length is not None and not 0 <= length < 2**31:
        raise wrong(field, f"{field} is 0 or more, and less than 2147483648.")


def write_task(task: Json) -> Json:
    """A task in 0.3's words."""
    return dump(convert.to_compat_task(ParseDict(task, wire.Task())))


def _sent(answer: Json) -> Json:
    return write_task(answer["task"])


def old_update(update: Json) -> Any:
    """An update of a stream as a value of 0.3."""
    core = ParseDict(update, wire.StreamResponse())
    found = convert.to_compat_stream_response(core, 0).result
    if isinstance(found, old.TaskStatusUpdateEvent):
        # The last of its stream, which ends at a question as well.
        found.final = update["statusUpdate"]["status"]["state"] in RESTING
    return found


def _write_update(update: Json) -> Json:
    return dump(old_update(update))


def old_webhook(config: Json) -> old.TaskPushNotificationConfig:
    """A webhook as a value of 0.3."""
    return convert.to_compat_task_push_notification_config(ParseDict(config, wire.TaskPushNotificationConfig()))


def _write_webhook(config: Json) -> Json:
    return dump(old_webhook(config))


def _write_webhooks(answer: Json) -> list[Json]:
    return [_write_webhook(config) for config in answer["configs"]]


def _nothing(_answer: Json) -> None:
    return None


def _read_list(params: object) -> Any:
    """0.3 has no list of its own: it is asked for as in 1.0, with states as 0.3 spells them."""
    if isinstance(params, dict) and isinstance(params.get("status"), str) and params["status"]:
        state = params["status"].upper().replace("-", "_")
        params = params | {"status": state if state.startswith("TASK_STATE_") else f"TASK_STATE_{state}"}
    return read_params(wire.ListTasksRequest, params)


def _write_list(answer: Json) -> Json:
    return answer | {"tasks": [write_task(task) for task in answer["tasks"]]}


def _read_webhook(params: object) -> Any:
    asked = read_old(old.GetTaskPushNotificationConfigParams, params)
    return wire.GetTaskPushNotificationConfigRequest(task_id=asked.id, id=asked.push_notification_config_id or "")


def _read_card(_params: object) -> Any:
    return wire.GetExtendedAgentCardRequest()


_send = _reader(old.MessageSendParams, old.SendMessageRequest, convert.to_core_send_message_request)

LEGACY: dict[str, Legacy] = {
    "message/send": Legacy("SendMessage", _send, _sent),
    "message/stream": Legacy("SendStreamingMessage", _send, _write_update),
    "tasks/get": Legacy(
        "GetTask", _reader(old.TaskQueryParams, old.GetTaskRequest, convert.to_core_get_task_request), write_task
    ),
    "tasks/list": Legacy("ListTasks", _read_list, _write_list),
    "tasks/cancel": Legacy(
        "CancelTask", _reader(old.TaskIdParams, old.CancelTaskRequest, convert.to_core_cancel_task_request), write_task
    ),
    "tasks/resubscribe": Legacy(
        "SubscribeToTask",
        _reader(old.TaskIdParams, old.TaskResubscriptionRequest, convert.to_core_subscribe_to_task_request),
        _write_update,
    ),
    "tasks/pushNotificationConfig/set": Legacy(
        "CreateTaskPushNotificationConfig",
        _reader(
            old.TaskPushNotificationConfig,
            old.SetTaskPushNotificationConfigRequest,
            convert.to_core_create_task_push_notification_config_request,
        ),
        _write_webhook,
    ),
    "tasks/pushNotificationConfig/get": Legacy("GetTaskPushNotificationConfig", _read_webhook, _write_webhook),
    "tasks/pushNotificationConfig/list": Legacy(
        "ListTaskPushNotificationConfigs",
        _reader(
            old.ListTaskPushNotificationConfigParams,
            old.ListTaskPushNotificationConfigRequest,
            convert.to_core_list_task_push_notification_config_request,
        ),
        _write_webhooks,
    ),
    "tasks/pushNotificationConfig/delete": Legacy(
        "DeleteTaskPushNotificationConfig",
        _reader(
            old.DeleteTaskPushNotificationConfigParams,
            old.DeleteTaskPushNotificationConfigRequest,
            convert.to_core_delete_task_push_notification_config_request,
        ),
        _nothing,
    ),
    "agent/getAuthenticatedExtendedCard": Legacy("GetExtendedAgentCard", _read_card, legacy_card),
}
