"""Short calls of A2A for tests: JSON-RPC requests, tasks, streams and errors."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx

Json = dict[str, Any]
WAIT_SECONDS_MAX = 15.0
NEW = {"A2A-Version": "1.0"}
OLD = {"A2A-Version": "0.3"}
SUBMITTED = "TASK_STATE_SUBMITTED"
WORKING = "TASK_STATE_WORKING"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
CANCELED = "TASK_STATE_CANCELED"
FAILED = "TASK_STATE_FAILED"
REJECTED = "TASK_STATE_REJECTED"
ENDED = (COMPLETED, CANCELED, FAILED, REJECTED)
SETTLED = (INPUT_REQUIRED, AUTH_REQUIRED, *ENDED)
_numbers = itertools.count(1)


def message(*texts: str, **more: Any) -> Json:
    """Return a message of 1.0 with a unique id."""
    parts = [{"text": text} for text in texts]
    return {"messageId": f"m-{next(_numbers)}", "role": "ROLE_USER", "parts": parts} | more


def agent_steps(*steps: tuple[str, Any]) -> str:
    """Return the text that makes the scripted agent call these tools in order; `hold` waits for a name."""
    return f"do {json.dumps(steps)}"


async def call(
    client: httpx.AsyncClient, method: str, params: Any = None, *, version: str = "1.0", agent: str = "main"
) -> Json:
    """Make a JSON-RPC call and return the response, a result or an error."""
    body = {"jsonrpc": "2.0", "id": "call-1", "method": method, "params": params}
    answer = await client.post(f"/a2a/{agent}", json=body, headers={"A2A-Version": version})
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    assert (response["jsonrpc"], response["id"]) == ("2.0", "call-1")
    return response


async def ask(client: httpx.AsyncClient, method: str, agent: str = "main", **params: Any) -> Any:
    """Return the result of a call that must succeed."""
    response = await call(client, method, params, agent=agent)
    assert "error" not in response, response
    return response["result"]


async def send(
    client: httpx.AsyncClient, text: str, *, agent: str = "main", at_once: bool = False, **more: Any
) -> Json:
    """Send a text and return the task, once it has ended or waits, or at once."""
    configuration = {"configuration": {"returnImmediately": True}} if at_once else {}
    task: Json = (await ask(client, "SendMessage", agent, message=message(text, **more), **configuration))["task"]
    return task


async def get(client: httpx.AsyncClient, task: Json, **more: Any) -> Json:
    """Read the task."""
    found: Json = await ask(client, "GetTask", id=task["id"], **more)
    return found


async def task_ids(client: httpx.AsyncClient, **filters: Any) -> list[str]:
    """Return the ids of the tasks on one page."""
    return [task["id"] for task in (await ask(client, "ListTasks", **filters))["tasks"]]


def state(task: Json) -> str:
    """Return a task's state."""
    return str(task["status"]["state"])


def text_of(owner: Json) -> str:
    """Return the text of a message, an artifact, or a task's status."""
    parts = owner["status"]["message"]["parts"] if "status" in owner else owner["parts"]
    return "".join(part["text"] for part in parts)


def refusal(answer: Json) -> tuple[int, str, str | None]:
    """Return the code, reason and field of a refused call."""
    error = answer["error"]
    first = error["data"][0]
    assert first["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    return error["code"], first["reason"], first["metadata"].get("field")


class Frame(NamedTuple):
    """One frame of a stream: its number, the kind of update, and the update."""

    id: int
    kind: str
    body: Json


class Stream:
    """An open stream of updates, over either HTTP binding."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Frame:
        """Return the next frame; EOFError when the server has ended the stream."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            async for line in self._lines:
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "data" in fields:
                    return _frame(int(fields["id"]), json.loads(fields["data"]))
        raise EOFError

    async def rest(self) -> list[Frame]:
        """Return all frames up to the end of the stream."""
        frames = []
        try:
            while True:
                frames.append(await self.next())
        except EOFError:
            return frames


def _frame(number: int, body: Json) -> Frame:
    update = body.get("result", body)
    kind = update.get("kind") or next(iter(update))
    return Frame(number, kind, update if "kind" in update else update[kind])


@asynccontextmanager
async def open_stream(
    client: httpx.AsyncClient, method: str, params: Json, *, last: int | None = None, version: str = "1.0"
) -> AsyncIterator[Stream]:
    """Open a stream over JSON-RPC; the response must be one."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    headers = {"A2A-Version": version} | ({} if last is None else {"Last-Event-ID": str(last)})
    async with client.stream("POST", "/a2a/main", json=body, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
        yield Stream(response)


def subscribe(client: httpx.AsyncClient, task: Json, last: int | None = None) -> Any:
    """Subscribe to a task that has not ended."""
    return open_stream(client, "SubscribeToTask", {"id": task["id"]}, last=last)


def stream_send(client: httpx.AsyncClient, text: str, **more: Any) -> Any:
    """Send a text and stream the task."""
    return open_stream(client, "SendStreamingMessage", {"message": message(text, **more)})


def summary(frames: Iterable[Frame]) -> list[str]:
    """Return a stream in short: the state of every status and the id of every artifact."""
    return [
        str(frame.body["artifact"]["artifactId"]) if frame.kind == "artifactUpdate" else state(frame.body)
        for frame in frames
    ]


def apply_frames(first: Json, frames: Iterable[Frame]) -> Json:
    """Return the first task with every frame applied to it."""
    task: Json = json.loads(json.dumps(first))
    for frame in frames:
        if frame.kind == "statusUpdate":
            task["status"] = frame.body["status"]
        else:
            artifact = json.loads(json.dumps(frame.body["artifact"]))
            present = {one["artifactId"]: one for one in task.setdefault("artifacts", [])}
            if frame.body.get("append"):
                present[artifact["artifactId"]]["parts"] += artifact["parts"]
            else:
                assert artifact["artifactId"] not in present
                task["artifacts"].append(artifact)
        task["metadata"]["generation"] = frame.body["metadata"]["generation"]
    return task
