"""A plugin for the 1.0 kit's own pytest: every message it sends gets an id of its own.

The kit sends all messages of one kind under one id. To a server that recognises a repeated message that is a
repetition, which the specification allows, and the kit then looks at a task it has already ended. The beginning of an
id is kept, for it says what the agent is to do.

Imported by the kit's interpreter, so nothing of ours can be imported here.
"""

import functools
import importlib
import itertools
from typing import Any

CLIENTS = {"jsonrpc_client": "JsonRpcClient", "http_json_client": "HttpJsonClient", "grpc_client": "GrpcClient"}
SENDING = ("send_message", "send_streaming_message")

_number = itertools.count(1)


def _fresh(send: Any) -> Any:
    @functools.wraps(send)
    def sent(client: Any, message: dict[str, Any], **more: Any) -> Any:
        return send(client, message={**message, "messageId": f"{message['messageId']}-{next(_number)}"}, **more)

    return sent


def pytest_configure() -> None:
    """Wrap the sending methods of the kit's three clients."""
    for module, name in CLIENTS.items():
        client = getattr(importlib.import_module(f"tck.transport.{module}"), name)
        for method in SENDING:
            setattr(client, method, _fresh(getattr(client, method)))
