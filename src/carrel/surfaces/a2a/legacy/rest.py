"""A2A 0.3 over HTTP: the JSON of its own protobuf, which the official 0.3 client speaks."""

import a2a.types as wire
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old_wire
from a2a.compat.v0_3 import conversions as convert
from a2a.compat.v0_3 import types as old
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from google.protobuf.json_format import ParseDict

from carrel.surfaces.a2a.errors import wrong
from carrel.surfaces.a2a.legacy.jsonrpc import old_update, old_webhook
from carrel.surfaces.a2a.params import as_json, check_request, read_params
from carrel.surfaces.a2a.task_view import Json


def read_sent(body: object) -> wire.SendMessageRequest:
    """The body of message:send and message:stream."""
    asked = read_params(old_wire.SendMessageRequest, body)
    try:
        params = FromProto.message_send_params(asked)
        return convert.to_core_send_message_request(old.SendMessageRequest(id=0, params=params))
    except ValueError as error:
        raise wrong("message", f"This message cannot be read ({str(error)[:200]}).") from error


def read_webhook(task_id: str, body: object) -> wire.TaskPushNotificationConfig:
    """The body of a new webhook; whose it is says the address alone."""
    asked = read_params(old_wire.CreateTaskPushNotificationConfigRequest, body)
    config = FromProto.push_notification_config(asked.config.push_notification_config)
    made = old.TaskPushNotificationConfig(task_id=task_id, push_notification_config=config)
    request = convert.to_core_task_push_notification_config(made)
    check_request(request)
    return request


def write_sent(answer: Json) -> Json:
    """What message:send answers."""
    return as_json(ToProto.task_or_message(_old_task(answer["task"])))


def write_task(task: Json) -> Json:
    """A task."""
    return as_json(ToProto.task(_old_task(task)))


def write_update(update: Json) -> Json:
    """One update of a stream."""
    return as_json(ToProto.stream_response(old_update(update)))


def write_webhook(config: Json) -> Json:
    """A webhook."""
    return as_json(ToProto.task_push_notification_config(old_webhook(config)))


def write_webhooks(answer: Json) -> Json:
    """The webhooks of a task."""
    return {"configs": [write_webhook(config) for config in answer["configs"]]}


def _old_task(task: Json) -> old.Task:
    return convert.to_compat_task(ParseDict(task, wire.Task()))
