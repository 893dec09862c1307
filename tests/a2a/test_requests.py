"""Requests built and responses read without a connection."""

import json

import pytest

from carrel.a2a import A2aCodec, A2aFault
from carrel.a2a.card import A2aInterface


def test_the_tenant_goes_where_each_binding_expects_it() -> None:
    rest = A2aCodec(A2aInterface(url="https://a.example/x/", binding="HTTP+JSON", version="1.0", tenant="t/1"))
    assert rest.get("id 1", history=3).url == "https://a.example/x/t%2F1/tasks/id%201?historyLength=3"
    rpc = A2aCodec(A2aInterface(url="https://a.example/x", binding="JSONRPC", version="1.0", tenant="t/1"))
    assert json.loads(rpc.cancel("id 1").body)["params"] == {"id": "id 1", "tenant": "t/1"}


def test_an_error_keeps_the_reason_that_either_binding_gives() -> None:
    rpc = A2aCodec(A2aInterface(url="https://a.example", binding="JSONRPC", version="1.0"))
    found = {}
    for name, body in {
        "code": {"error": {"code": -32001, "message": "no"}},
        "data": {"error": {"code": -32000, "data": [{"@type": "x", "reason": "QUEUE_FULL"}]}},
        "details": {"error": {"code": 404, "status": "NOT_FOUND", "details": [{"reason": "TASK_NOT_FOUND"}]}},
        "status": {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "no"}},
        "bare": {"error": {}},
        "none": {"nothing": 1},
    }.items():
        with pytest.raises(A2aFault) as caught:
            rpc.read(200, json.dumps(body).encode())
        found[name] = caught.value.reason
    assert found == {
        "code": "TASK_NOT_FOUND",
        "data": "QUEUE_FULL",
        "details": "TASK_NOT_FOUND",
        "status": "INVALID_ARGUMENT",
        "bare": "ERROR",
        "none": "",
    }
