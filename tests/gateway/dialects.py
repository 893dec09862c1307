"""What the tests of the dialects share: a step, a gateway of a kind, and what it made of a server's answer."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from carrel.gateway import Gateway, GatewayFault, Step, StepAnswer, open_gateway
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.scripted_dialects import ScriptedAnthropic, ScriptedChat
from tests.scripted_gateway import ScriptedGateway
from tests.scripted_openclaw import ScriptedOpenClaw

KEY = "gw-key-0123456789"
ADDRESS = "agent:writer:task:task_1:v2"
TOOL = {
    "type": "function",
    "name": "task_list",
    "description": "List tasks.",
    "parameters": {"type": "object", "properties": {"limit": {"type": "integer"}}},
    "strict": False,
}
SERVERS: dict[str, type[ScriptedGateway]] = {"chat": ScriptedChat, "anthropic": ScriptedAnthropic}
KINDS: dict[str, type[ScriptedGateway]] = {"responses": ScriptedGateway} | SERVERS
SCRIPTED: dict[str, type[ScriptedGateway]] = KINDS | {"openclaw": ScriptedOpenClaw}
Json = dict[str, Any]


def opened(kind: str, server: ScriptedGateway, wire: Wire, **more: Any) -> Gateway:
    """Return a gateway of this kind to the server."""
    settings = GatewaySettings(kind=kind, **{"base_url": server.base_url, "api_key": KEY} | more)  # type: ignore[arg-type]
    return open_gateway("default", settings, wire)


def user(*parts: str | Json) -> Json:
    content = [{"type": "input_text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "message", "role": "user", "content": content}


def assistant(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def call(call_id: str, arguments: str = "{}", name: str = "task_list") -> Json:
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return item | {"status": "completed"}


def output(call_id: str, text: Any) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def step(items: Sequence[Json] | str = "hello", message_at: int | None = None, **fields: Any) -> Step:
    """Return a step as a turn builds it."""
    body: Json = {"model": "m", "instructions": "Be brief.", "input": items, "tools": [TOOL], "tool_choice": "auto"}
    body |= {"stream": True, "user": ADDRESS, "metadata": {"runId": "run_1"}} | fields
    return Step(body=msgspec.json.encode(body), address=ADDRESS, agent_id="writer", message_at=message_at)


class Taken(msgspec.Struct):
    """What became of a step: the answer, the text that was passed on, and the bytes that were announced."""

    answer: StepAnswer
    heard: list[str]
    sent: list[bytes]


async def take(gateway: Gateway, given: Step | None = None) -> Taken:
    """Take a step."""
    heard: list[str] = []
    sent: list[bytes] = []

    async def keep(body: bytes) -> None:
        sent.append(body)

    return Taken(await gateway.take(given or step(), heard.append, keep), heard, sent)


async def fault_of(gateway: Gateway, given: Step | None = None) -> GatewayFault:
    """Take a step that fails."""
    with pytest.raises(GatewayFault) as caught:
        await take(gateway, given)
    return caught.value


async def sent_by(gateway: Gateway, server: ScriptedGateway, given: Step) -> Json:
    """Return the request that a step became; the server must have an answer."""
    await take(gateway, given)
    found: Json = json.loads(server.requests[-1].body)
    return found
