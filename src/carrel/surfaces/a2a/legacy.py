"""A2A 0.3: what its methods and paths are called in 1.0. What they carry is converted in `legacy_conversions`."""

from types import ModuleType

_CONFIGS = "tasks/pushNotificationConfig"
# The operation of each JSON-RPC method.
METHODS = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/list": "ListTasks",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    f"{_CONFIGS}/set": "CreateTaskPushNotificationConfig",
    f"{_CONFIGS}/get": "GetTaskPushNotificationConfig",
    f"{_CONFIGS}/list": "ListTaskPushNotificationConfigs",
    f"{_CONFIGS}/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
# Paths of 1.0 that have another name.
PATHS = {"/extendedAgentCard": "/card"}


def conversions() -> ModuleType:
    """Return the conversions; they are loaded with the first use, since the SDK's types of 0.3 take long to build."""
    from carrel.surfaces.a2a import legacy_conversions

    return legacy_conversions
