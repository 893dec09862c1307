"""The HTTP+JSON binding of A2A 1.0 for the OpenAPI document.

What a request may contain follows from the protocol's own types, which also parse it, and from the bounds below. Of
responses, only the outline is described; the protocol has the rest.
"""

from typing import Any

import a2a.types as wire
from google.protobuf.descriptor import FieldDescriptor

from carrel.kernel import SCOPE_END
from carrel.kernel.limits import A2A_ID_CHARS_MAX, A2A_PAGE_TASKS_MAX, WEBHOOK_SECRET_CHARS_MAX, WEBHOOK_URL_CHARS_MAX
from carrel.surfaces.a2a.http_binding import BODY_TYPES
from carrel.surfaces.a2a.messages import FILE_TYPES
from carrel.surfaces.a2a.operations import METHODS
from carrel.surfaces.a2a.protobuf_json import BASE64, is_list, required_fields
from carrel.surfaces.a2a.rest import ENDPOINTS, Endpoint
from carrel.surfaces.http.openapi import NAME_SCHEMA, NO_NUL, Json, Operation

_CHARACTERS = f"[^\\u0000{SCOPE_END.encode('unicode_escape').decode()}]"
_ID: Json = {"type": "string", "maxLength": A2A_ID_CHARS_MAX, "pattern": f"^{_CHARACTERS}*$"}
_SECRET: Json = {"type": "string", "maxLength": WEBHOOK_SECRET_CHARS_MAX, "pattern": r"^[\x20-\x7e]*$"}
_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_MAYBE_TEXT_TYPE: Json = {"type": ["string", "null"], "pattern": "^(text/[a-z]+)?$"}


def _part(content: str, *required: str, **properties: Json) -> Json:
    """Return a part with this content and no other."""
    others: Json = {name: {"type": "null"} for name in ("text", "raw", "url") if name != content}
    others |= {} if content == "data" else {"data": False}
    return {"required": [content, *required], "properties": others | properties}


_PARTS = (
    _part("text", text={"type": "string"}, mediaType=_MAYBE_TEXT_TYPE),
    _part("raw", "mediaType", raw={"type": "string", "minLength": 2}, mediaType={"enum": [*FILE_TYPES]}),
    _part("url", url={"type": "string", "pattern": "^https?://"}, mediaType={"enum": [*FILE_TYPES, "", None]}),
    _part("data"),
)
# Checks beyond the types: of messages by name, of fields by message and name.
_BOUNDS: dict[str, Json] = {
    "Message.messageId": {**_ID, "minLength": 1},
    "Message.contextId": _ID,
    "Message.taskId": _ID,
    "Message.role": {"enum": ["ROLE_USER", wire.Role.ROLE_USER]},
    "Message.parts": {"minItems": 1},
    "Part": {"oneOf": list(_PARTS)},
    "Part.text": {"pattern": NO_NUL},
    "Part.url": {"pattern": NO_NUL},
    "Part.filename": {"pattern": NO_NUL},
    "ListTasksRequest.pageSize": {"minimum": 1, "maximum": A2A_PAGE_TASKS_MAX},
    "TaskPushNotificationConfig.id": {"maxLength": A2A_ID_CHARS_MAX, "pattern": r"^[\x20-\x7e]*$"},
    "TaskPushNotificationConfig.url": {
        "maxLength": WEBHOOK_URL_CHARS_MAX,
        "pattern": rf"^[Hh][Tt][Tt][Pp][Ss]?://{_HOST}(:[0-9]*)?([/?#][\x21-\x7e]*)?$",
    },
    "TaskPushNotificationConfig.token": _SECRET,
    "AuthenticationInfo.scheme": {"pattern": r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$"},
    "AuthenticationInfo.credentials": _SECRET,
}
_TEXT: Json = {"type": "string"}


def _holding(**fields: Json) -> Json:
    return {"type": "object", "properties": fields, "required": list(fields)}


_TASK = _holding(id=_TEXT, contextId=_TEXT, status=_holding(state={"enum": wire.TaskState.keys()}))
_CONFIG = _holding(id=_TEXT, taskId=_TEXT, url=_TEXT)
_DETAILS: Json = {"type": "array", "items": {"type": "object"}}
_ERROR = _holding(error=_holding(code={"type": "integer"}, status=_TEXT, message=_TEXT, details=_DETAILS))
_SUMMARIES: dict[str, tuple[str, Json]] = {
    "SendMessage": ("Send a message to an agent; the answer is its task.", _holding(task=_TASK)),
    "SendStreamingMessage": ("Send a message and follow its task.", _TASK),
    "ListTasks": (
        "List the caller's tasks with this agent, newest change first.",
        _holding(tasks={"type": "array", "items": _TASK}, nextPageToken=_TEXT),
    ),
    "CancelTask": ("Cancel a task.", _TASK),
    "SubscribeToTask": ("Follow a task that has not ended.", _TASK),
    "GetTask": ("Get a task.", _TASK),
    "CreateTaskPushNotificationConfig": ("Have the changes of a task sent to a webhook.", _CONFIG),
    "ListTaskPushNotificationConfigs": (
        "List the webhooks of a task.",
        _holding(configs={"type": "array", "items": _CONFIG}),
    ),
    "GetTaskPushNotificationConfig": ("Get a webhook of a task.", _CONFIG),
    "DeleteTaskPushNotificationConfig": ("Delete a webhook of a task.", {"type": "object"}),
    "GetExtendedAgentCard": ("Get the agent's card for callers with a token.", {"type": "object"}),
}
_ERRORS = (400, 401, 403, 404, 409, 413, 429, 500, 503)


def describe() -> list[Operation]:
    """Return one operation for each method."""
    return [_described(one, method) for one in ENDPOINTS for method in one.methods]


def _described(one: Endpoint, method: str) -> Operation:
    summary, answer = _SUMMARIES[one.operation]
    kind = METHODS[one.operation]
    request = _schema(kind.input_type, left_out=tuple(one.fields))
    return Operation(
        method=method,
        path=f"/a2a/{{agent}}{one.path}",
        name=one.operation if method == one.methods[0] else f"{one.operation}By{method.title()}",
        summary=summary,
        tag="a2a",
        answers={200: answer},
        errors=_ERRORS,
        error=_ERROR,
        error_media=BODY_TYPES,
        media=("text/event-stream",) if kind.server_streaming else BODY_TYPES,
        query=_plain(request) if one.source == "query" else None,
        body=request if one.source == "body" else None,
        body_media=BODY_TYPES,
        path_schemas=dict.fromkeys(("agent", "id", "webhook"), NAME_SCHEMA | {"pattern": r"^[^\u0000/:]+$"}),
    )


def _schema(kind: Any, left_out: tuple[str, ...] = ()) -> Json:
    """Return the schema of a message as protobuf's JSON has it, where every optional field may also be null."""
    required = [field.json_name for field in required_fields(kind) if field.json_name not in left_out]
    properties = {
        field.json_name: _field(kind.name, field, is_optional=field.json_name not in required)
        for field in kind.fields
        if field.json_name not in left_out
    }
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": properties} | needed | _BOUNDS.get(kind.name, {})


def _field(owner: str, field: Any, *, is_optional: bool) -> Json:
    one = _one(field)
    schema = {"type": "array", "items": one} if is_list(field) else one
    schema = schema | _BOUNDS.get(f"{owner}.{field.json_name}", {})
    return {"anyOf": [schema, {"type": "null"}]} if is_optional and schema else schema


def _one(field: Any) -> Json:
    kind = field.message_type
    match field.type:
        case FieldDescriptor.TYPE_MESSAGE if kind.name == "Timestamp":
            return {"type": "string", "format": "date-time"}
        case FieldDescriptor.TYPE_MESSAGE if kind.name == "Struct":
            return {"type": "object"}
        case FieldDescriptor.TYPE_MESSAGE if kind.name == "Value":
            return {}
        case FieldDescriptor.TYPE_MESSAGE:
            return _schema(kind, left_out=("taskId",) if kind.name == "TaskPushNotificationConfig" else ())
        case FieldDescriptor.TYPE_ENUM:
            return {"enum": [*field.enum_type.values_by_name, *field.enum_type.values_by_number]}
        case FieldDescriptor.TYPE_BOOL:
            return {"type": "boolean"}
        case FieldDescriptor.TYPE_INT32:
            # A number may also be written as text.
            return {"type": ["integer", "string"], "minimum": 0, "maximum": 2**31 - 1, "pattern": "^[0-9]{1,9}$"}
        case FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "contentEncoding": "base64", "pattern": f"^{BASE64}$"}
        case _:
            return {"type": "string"}


def _plain(request: Json) -> Json:
    """Return the request for a query, where nothing is null and everything is text anyway."""
    fields = {name: schema["anyOf"][0] for name, schema in request["properties"].items()}
    for name, schema in fields.items():
        if "enum" in schema:
            fields[name] = {"enum": [one for one in schema["enum"] if isinstance(one, str)]}
        elif "minimum" in schema:
            fields[name] = {**schema, "type": "integer"}
        elif schema == {"type": "string"}:
            fields[name] = {**schema, "pattern": NO_NUL}
    return request | {"properties": fields}
