"""A2A 0.3 over HTTP: the JSON of its own protobuf types, which the official 0.3 client uses."""

import a2a.types as wire
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old_wire
from a2a.compat.v0_3 import conversions as convert
from a2a.compat.v0_3 import types as old
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from google.protobuf.json_format import ParseDict

from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.legacy.jsonrpc import legacy_push_config, legacy_update
from carrel.surfaces.a2a.protobuf_json import Json, to_json
from carrel.surfaces.a2a.requests import check_request, parse_params


def read_sent(body: object) -> wire.SendMessageRequest:
    """Read the body of message:send and message:stream."""
    parsed = parse_params(old_wire.SendMessageRequest, body)
    try:
        params = FromProto.message_send_params(parsed)
        return convert.to_core_send_message_request(old.SendMessageRequest(id=0, params=params))
    except ValueError as error:
        raise invalid_params("message", f"This message cannot be read ({str(error)[:200]}).") from error


def read_push_config(task_id: str, body: object) -> wire.TaskPushNotificationConfig:
    """Read the body of a new push notification config; its task is the one in the URL."""
    parsed = parse_params(old_wire.CreateTaskPushNotificationConfigRequest, body)
    config = FromProto.push_notification_config(parsed.config.push_notification_config)
    task_config = old.TaskPushNotificationConfig(task_id=task_id, push_notification_config=config)
    request = convert.to_core_task_push_notification_config(task_config)
    check_request(request)
    return request


def write_sent(result: Json) -> Json:
    """Write the result of message:send."""
    return to_json(ToProto.task_or_message(_legacy_task(result["task"])))


def write_task(task: Json) -> Json:
    """Write a task."""
    return to_json(ToProto.task(_legacy_task(task)))


def write_update(update: Json) -> Json:
    """Write one update of a stream."""
    return to_json(ToProto.stream_response(legacy_update(update)))


def write_push_config(config: Json) -> Json:
    """Write a push notification config."""
    return to_json(ToProto.task_push_notification_config(legacy_push_config(config)))


def write_push_configs(result: Json) -> Json:
    """Write the push notification configs of a task."""
    return {"configs": [write_push_config(config) for config in result["configs"]]}


def _legacy_task(task: Json) -> old.Task:
    return convert.to_compat_task(ParseDict(task, wire.Task()))
