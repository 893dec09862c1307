"""A notification about a task, played through against a gateway that speaks as OpenClaw does.

Its body is strict, it needs the session key on every request, it answers a tool call as `incomplete`, streams without
numbering its events, and keeps the session by the key it is given.
"""

import json
from typing import Any

from tests.delivery.tasks import assign, make_task, notify
from tests.harness.server import API_KEY, Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, http_error, stream_of

FIELDS = {
    "model", "input", "instructions", "tools", "tool_choice", "stream", "max_output_tokens", "max_tool_calls", "user",
    "temperature", "top_p", "metadata", "store", "previous_response_id", "reasoning", "truncation",
}  # fmt: skip
ITEMS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}


class OpenClaw:
    """A gateway's side of an exchange: by session, what it was sent; its answers call a tool once, then reply."""

    def __init__(self) -> None:
        self.sessions: dict[str, list[Request]] = {}

    def answer(self, request: Request) -> Answer:
        """Answer one request, or refuse it as the real one would."""
        body, headers = request.json, request.headers
        if headers.get("authorization") != f"Bearer {API_KEY}":
            return http_error(401, "Unauthorized")
        if not FIELDS.issuperset(body) or not all(isinstance(value, str) for value in body["metadata"].values()):
            return http_error(400, f"unknown fields: {body.keys() - FIELDS}")
        if not {item["type"] for item in body["input"]} <= ITEMS:
            return http_error(400, "unknown items")
        if headers["x-openclaw-session-key"] != body["user"]:
            return http_error(400, "The session key and the user differ.")
        seen = self.sessions.setdefault(headers["x-openclaw-session-key"], [])
        seen.append(request)
        return self._reply() if body["input"][-1]["type"] == "function_call_output" else self._call()

    def _call(self) -> Answer:
        said = message("I look it up.", "commentary", "completed")
        call = {"type": "function_call", "id": "call_1", "call_id": "call_1", "name": "session_status"}
        call |= {"arguments": "{}", "status": "completed"}
        return stream_of(*_opening(said), *_item(1, call), _end([said, call], "incomplete"), "[DONE]")

    def _reply(self) -> Answer:
        said = message("All is well.", "final_answer", "completed")
        return stream_of(*_opening(said), _end([said], "completed"), "[DONE]")


def message(words: str, phase: str, status: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, "phase": phase, "status": status}


def _response(output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    head = {"id": "resp_1", "object": "response", "created_at": 0, "status": status, "model": "openclaw"}
    return head | {"output": output, "usage": usage}


def _end(output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {"type": "response.completed", "response": _response(output, status)}


def _item(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "response.output_item.added", "output_index": index, "item": item | {"status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _opening(said: dict[str, Any]) -> list[dict[str, Any]]:
    words, at = said["content"][0]["text"], {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    empty = said | {"content": [], "status": "in_progress"}
    return [
        {"type": "response.created", "response": _response([], "in_progress")},
        {"type": "response.in_progress", "response": _response([], "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in (words[:5], words[5:])),
        {"type": "response.output_text.done", **at, "text": words},
        {"type": "response.content_part.done", **at, "part": said["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": said},
    ]


@requirement("S0.send.everyturn", "S0.route.continuation", "S0.send.layers", "S0.input.anchors")
async def test_every_step_of_a_notification_reaches_the_same_session_with_instructions_and_tools(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    claw = OpenClaw()
    gateway.rule = claw.answer
    async with open_server(sqlite_url, gateways_to(gateway, model="openclaw")) as server:
        task_id = await played(server)
    (address,) = claw.sessions
    assert address == f"agent:writer:task:{task_id}:v1"
    steps = claw.sessions[address]
    assert len(steps) == 4
    for request in steps:
        body = request.json
        assert request.headers["x-openclaw-agent-id"] == "writer"
        assert f"You work on task {task_id}" in body["instructions"]
        assert body["tools"]
        assert all(tool["type"] == "function" and "name" in tool for tool in body["tools"])
        assert body["metadata"]["taskId"] == task_id
        assert f"· task {task_id}]" in json.dumps(body["input"], ensure_ascii=False)
        assert "previous_response_id" not in body
    for first, second in (steps[:2], steps[2:]):
        assert second.json["input"][: len(first.json["input"])] == first.json["input"]
        for name in ("instructions", "tools", "user", "metadata"):
            assert first.json[name] == second.json[name]


async def played(server: Server) -> str:
    """An assignment and a mention, each with a tool call; return the id of the task."""
    await server.make_agent("writer")
    task_id = await make_task(server)
    for run in (await assign(server, task_id, "writer"), await notify(server, task_id, "@writer and now?")):
        assert (run.state, run.reply, run.error_message) == ("completed", "All is well.", None)
    return task_id
