"""The rights of every kind of token on every A2A method, in all bindings and versions, against one table."""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import grpc
import pytest
from a2a.types.a2a_pb2 import DESCRIPTOR
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from carrel.surfaces.a2a.legacy import METHODS
from carrel.surfaces.a2a.operations import operations_of
from tests.requirements.mark import requirement
from tests.surfaces.a2a.grpc_server import GrpcServer, bearer, open_grpc_server
from tests.surfaces.api_calls import Json
from tests.surfaces.rights_table import (
    A2A,
    CALLERS_OF_AGENTS,
    HIDDEN,
    KINDS,
    LOGIN,
    MAY,
    NEVER,
    Verdict,
    a2a_routes,
)
from tests.surfaces.rights_world import VERDICTS, World, furnished

HOOK = "https://example.com/hook"
# Calls as one kind of caller, by the name of a method or route, about a task or with a text.
Call = Callable[[World, str, str, str, str], Awaitable[tuple[Verdict, str]]]


@pytest.fixture
async def grpc_server(sqlite_url: str) -> AsyncIterator[GrpcServer]:
    """A server with a gRPC port."""
    async with open_grpc_server(sqlite_url) as opened:
        yield opened


@pytest.fixture
async def filled(grpc_server: GrpcServer) -> AsyncIterator[World]:
    """The furnished server."""
    async with furnished(grpc_server.opened) as built:
        yield built


def a2a_params(method: str, task: str, text: str) -> Json:
    """Return the parameters of a method in its version; `task` is the task that it is about."""
    is_old = "/" in method
    if method.lower().replace("/", "").startswith(("sendmessage", "sendstreaming", "message")):
        part = {"kind": "text", "text": text} if is_old else {"text": text}
        return {"message": {"messageId": text, "role": "user" if is_old else "ROLE_USER", "parts": [part]}}
    if "ushNotificationConfig" not in method:
        return {} if method in ("ListTasks", "tasks/list") or "Card" in method else {"id": task}
    if is_old:
        config = {"pushNotificationConfig": {"url": HOOK, "id": "hook"}, "taskId": task}
        return config if method.endswith("set") else {"id": task, "pushNotificationConfigId": "hook"}
    return {"taskId": task, "id": "hook"} | ({"url": HOOK} if method.startswith("Create") else {})


async def over_json_rpc(filled: World, kind: str, method: str, task: str, text: str) -> tuple[Verdict, str]:
    """Call a method; return the verdict and the beginning of the answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": a2a_params(method, task, text)}
    version = {"A2A-Version": "0.3" if "/" in method else "1.0"}
    async with filled.clients[kind].stream("POST", "/a2a/main", json=body, headers=version) as answer:
        told = ""
        async for chunk in answer.aiter_text():
            told += chunk
            if "event-stream" in answer.headers["content-type"]:
                break
        if answer.status_code != 200:
            return VERDICTS[answer.status_code], told
        return HIDDEN if "-32001" in told else MAY, told


async def task_of(filled: World, kind: str) -> str:
    """Return a new task of a caller, which waits for an answer and has a push configuration."""
    _, told = await over_json_rpc(filled, kind, "SendMessage", "", f"ask {filled.name()}")
    task = str(json.loads(told)["result"]["task"]["id"])
    await over_json_rpc(filled, kind, "CreateTaskPushNotificationConfig", task, "")
    return task


async def mistakes(filled: World, call: Call, names: Iterable[str], method_of: Callable[[str], str]) -> list[str]:
    """Call everything as everybody, for tasks of its own and of others; return what is not as in the table."""
    tasks = {kind: await task_of(filled, kind) for kind in KINDS if CALLERS_OF_AGENTS[kind] == MAY}
    wrong = []
    for name, kind in itertools.product(names, KINDS):
        method = method_of(name)
        if kind in tasks and "cancel" in method.lower():
            tasks[kind] = await task_of(filled, kind)
        told, text = await call(filled, kind, name, tasks.get(kind, "run_none"), filled.name())
        if told != A2A[method][kind]:
            wrong.append(f"{name} as {kind}: {text[:200]}, expected {A2A[method][kind]}")
        other = tasks["user" if kind == "owner" else "owner"]
        if kind in tasks and other in str(a2a_params(method, other, "")):
            told, text = await call(filled, kind, name, other, filled.name())
            if told != HIDDEN:
                wrong.append(f"{name} as {kind} for the task of another: {text[:200]}")
    return wrong


@requirement("P.rights")
async def test_every_a2a_method_answers_exactly_those_it_should(filled: World) -> None:
    methods = {*operations_of(filled.server.services), *METHODS}
    assert methods == A2A.keys(), "every method has a row, and every row a method"
    assert await mistakes(filled, over_json_rpc, A2A, lambda method: method) == []


def rest_body(name: str, method: str, text: str) -> Json:
    """Return the body of a POST in the version of its route."""
    is_old = "/v1/" in name
    if method.startswith("Send"):
        message = a2a_params("SendMessage", "", text)["message"]
        parts = message.pop("parts")
        return {"message": message | {"content" if is_old else "parts": parts}}
    if method.startswith("Create"):
        hook = {"url": HOOK, "id": "hook"}
        return {"config": {"pushNotificationConfig": hook}} if is_old else hook
    return {}


async def over_rest(filled: World, kind: str, name: str, task: str, text: str) -> tuple[Verdict, str]:
    """Call a route; return the verdict and the status."""
    verb, path = name.split(" ")
    for part, value in {"{agent}": "main", "{id}": task, "{webhook}": "hook"}.items():
        path = path.replace(part, value)
    body = rest_body(name, a2a_routes()[name], text) if verb == "POST" else None
    async with filled.clients[kind].stream(verb, path, json=body) as answer:
        assert answer.status_code not in (405, 415, 422), f"{name} was called wrongly: {answer.status_code}"
        return VERDICTS.get(answer.status_code, MAY), str(answer.status_code)


@requirement("P.rights")
async def test_every_a2a_route_answers_exactly_those_its_method_does(filled: World) -> None:
    assert await mistakes(filled, over_rest, a2a_routes(), lambda name: a2a_routes()[name]) == []


GRPC_VERDICTS: dict[str, Verdict] = {"UNAUTHENTICATED": LOGIN, "PERMISSION_DENIED": NEVER, "NOT_FOUND": HIDDEN}


@requirement("P.rights")
async def test_every_a2a_method_answers_over_grpc_exactly_those_it_should(
    grpc_server: GrpcServer, filled: World
) -> None:
    methods = DESCRIPTOR.services_by_name["A2AService"].methods_by_name
    async with grpc_server.calls() as stub:

        async def over_grpc(filled: World, kind: str, method: str, task: str, text: str) -> tuple[Verdict, str]:
            request: Any = GetMessageClass(methods[method].input_type)()
            ParseDict(a2a_params(method, task, text), request, ignore_unknown_fields=True)
            token = filled.tokens[kind]
            call = getattr(stub, method)(request, metadata=bearer(token) if token else ())
            try:
                await call.read() if isinstance(call, grpc.aio.UnaryStreamCall) else await call
            except grpc.aio.AioRpcError as error:
                return GRPC_VERDICTS.get(error.code().name, MAY), error.code().name
            call.cancel()
            return MAY, "OK"

        names = [name for name in A2A if "/" not in name]
        assert set(methods) == set(names)
        assert await mistakes(filled, over_grpc, names, lambda method: method) == []
