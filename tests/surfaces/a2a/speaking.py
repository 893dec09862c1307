"""Speaking A2A in a few words, for tests about what comes of it: calls, tasks, streams and refusals as they are."""

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
RESTING = (INPUT_REQUIRED, AUTH_REQUIRED, *ENDED)
_numbers = itertools.count(1)


def message(*texts: str, **more: Any) -> Json:
    """A message as 1.0 has it, with an id that no other has."""
    parts = [{"text": text} for text in texts]
    return {"messageId": f"m-{next(_numbers)}", "role": "ROLE_USER", "parts": parts} | more


def doing(*steps: tuple[str, Any]) -> str:
    """What the scripted agent is told to do: one tool call after the other, or `hold` with a name."""
    return f"do {json.dumps(steps)}"


async def call(
    client: httpx.AsyncClient, method: str, params: Any = None, *, version: str = "1.0", agent: str = "main"
) -> Json:
    """What a JSON-RPC call is answered, be it a result or an error."""
    body = {"jsonrpc": "2.0", "id": "call-1", "method": method, "params": params}
    answer = await client.post(f"/a2a/{agent}", json=body, headers={"A2A-Version": version})
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    assert (told["jsonrpc"], told["id"]) == ("2.0", "call-1")
    return told


async def ask(client: httpx.AsyncClient, method: str, agent: str = "main", **params: Any) -> Any:
    """The result of a call that must succeed."""
    told = await call(client, method, params, agent=agent)
    assert "error" not in told, told
    return told["result"]


async def send(
    client: httpx.AsyncClient, text: str, *, agent: str = "main", at_once: bool = False, **more: Any
) -> Json:
    """Say something; the task, once it rests unless it is wanted at once."""
    configuration = {"configuration": {"returnImmediately": True}} if at_once else {}
    task: Json = (await ask(client, "SendMessage", agent, message=message(text, **more), **configuration))["task"]
    return task


async def get(client: httpx.AsyncClient, task: Json, **more: Any) -> Json:
    """The task as it is now."""
    found: Json = await ask(client, "GetTask", id=task["id"], **more)
    return found


async def listed(client: httpx.AsyncClient, **wanted: Any) -> list[str]:
    """The ids of the tasks of one page."""
    return [task["id"] for task in (await ask(client, "ListTasks", **wanted))["tasks"]]


def state(task: Json) -> str:
    """A task's state."""
    return str(task["status"]["state"])


def said(shown: Json) -> str:
    """The words of a message, an artifact, or a task's status."""
    parts = shown["status"]["message"]["parts"] if "status" in shown else shown["parts"]
    return "".join(part["text"] for part in parts)


def refusal(answer: Json) -> tuple[int, str, str | None]:
    """Code, reason and field of a refused call."""
    error = answer["error"]
    first = error["data"][0]
    assert first["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    return error["code"], first["reason"], first["metadata"].get("field")


class Frame(NamedTuple):
    """One frame of a stream: its number, what kind of update it is, and the update."""

    id: int
    kind: str
    body: Json


class Stream:
    """An open stream of updates, whatever binding it came by."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Frame:
        """The next frame; EOFError when the server has ended the stream."""
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
        """Every frame up to the end of the stream."""
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
async def streaming(
    client: httpx.AsyncClient, method: str, params: Json, *, last: int | None = None, version: str = "1.0"
) -> AsyncIterator[Stream]:
    """A stream by JSON-RPC; it must be one."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    headers = {"A2A-Version": version} | ({} if last is None else {"Last-Event-ID": str(last)})
    async with client.stream("POST", "/a2a/main", json=body, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
        yield Stream(response)


def subscribing(client: httpx.AsyncClient, task: Json, last: int | None = None) -> Any:
    """A subscription to a task that lives."""
    return streaming(client, "SubscribeToTask", {"id": task["id"]}, last=last)


def sending(client: httpx.AsyncClient, text: str, **more: Any) -> Any:
    """A stream of what comes of saying something."""
    return streaming(client, "SendStreamingMessage", {"message": message(text, **more)})


def told(frames: Iterable[Frame]) -> list[str]:
    """A stream in short: the state of every status, the id of every artifact."""
    return [
        str(frame.body["artifact"]["artifactId"]) if frame.kind == "artifactUpdate" else state(frame.body)
        for frame in frames
    ]


def applied(first: Json, frames: Iterable[Frame]) -> Json:
    """The task that whoever has seen the first one and then every frame knows."""
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
