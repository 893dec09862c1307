"""A2A 0.3 over HTTP: the JSON of its own protobuf types, which the official 0.3 client uses."""

from collections.abc import Callable
from typing import Any

import a2a.types as wire
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old_wire
from a2a.compat.v0_3 import conversions as convert
from a2a.compat.v0_3 import types as old
from a2a.compat.v0_3.proto_utils import FromProto, ToProto

from carrel.surfaces.a2a.agent_card import legacy_card
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.legacy.jsonrpc import legacy_push_config, legacy_task, legacy_update
from carrel.surfaces.a2a.protobuf_json import Json, to_json
from carrel.surfaces.a2a.requests import check_request, parse_params


def _read_sent(_task_id: str, body: object) -> wire.SendMessageRequest:
    parsed = parse_params(old_wire.SendMessageRequest, body)
    try:
        params = FromProto.message_send_params(parsed)
        return convert.to_core_send_message_request(old.SendMessageRequest(id=0, params=params))
    except ValueError as error:
        raise invalid_params("message", f"This message cannot be read ({str(error)[:200]}).") from error


def _read_push_config(task_id: str, body: object) -> wire.TaskPushNotificationConfig:
    parsed = parse_params(old_wire.CreateTaskPushNotificationConfigRequest, body)
    config = FromProto.push_notification_config(parsed.config.push_notification_config)
    task_config = old.TaskPushNotificationConfig(task_id=task_id, push_notification_config=config)
    request = convert.to_core_task_push_notification_config(task_config)
    check_request(request)
    return request


def _write_task(task: Json) -> Json:
    return to_json(ToProto.task(legacy_task(task)))


def _write_update(update: Json) -> Json:
    return to_json(ToProto.stream_response(legacy_update(update)))


def _write_push_config(config: Json) -> Json:
    return to_json(ToProto.task_push_notification_config(legacy_push_config(config)))


# Paths of 1.0 that have another name.
PATHS = {"/extendedAgentCard": "/card"}
# Per operation: how to read a body in 0.3's own form, with the task in the URL, and how to write the result.
READERS: dict[str, Callable[[str, object], Any]] = {
    "SendMessage": _read_sent,
    "SendStreamingMessage": _read_sent,
    "CreateTaskPushNotificationConfig": _read_push_config,
}
WRITERS: dict[str, Callable[[Json], object]] = {
    "SendMessage": lambda result: to_json(ToProto.task_or_message(legacy_task(result["task"]))),
    "SendStreamingMessage": _write_update,
    "GetTask": _write_task,
    "ListTasks": lambda result: result | {"tasks": [_write_task(task) for task in result["tasks"]]},
    "CancelTask": _write_task,
    "SubscribeToTask": _write_update,
    "CreateTaskPushNotificationConfig": _write_push_config,
    "GetTaskPushNotificationConfig": _write_push_config,
    "ListTaskPushNotificationConfigs": lambda result: {"configs": [*map(_write_push_config, result["configs"])]},
    "DeleteTaskPushNotificationConfig": lambda _: {},
    "GetExtendedAgentCard": legacy_card,
}
