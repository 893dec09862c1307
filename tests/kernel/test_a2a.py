"""A2A as a client reads it: cards, both forms of the protocol made one, and a remote run told by its events."""

import json
from typing import Any

import pytest
from a2a.compat.v0_3 import conversions
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.types.a2a_pb2 import TaskState
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from hypothesis import given
from hypothesis import strategies as st

from carrel.a2a import (
    A2aFault,
    A2aInterface,
    A2aSpeech,
    RemoteRun,
    card_addresses,
    choose_interface,
    state_name,
    state_word,
)
from carrel.a2a.shapes import read_event, read_task, write_message_03

STATES = [TaskState.Name(state) for state in TaskState.values() if state]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
names = st.text("abcdefghij-0123456789", min_size=1, max_size=12)


@st.composite
def parts(draw: st.DrawFn) -> Part:
    kind = draw(st.sampled_from(["text", "raw", "url", "data"]))
    named: dict[str, Any] = {"media_type": "image/png", "filename": draw(names)} if kind in ("raw", "url") else {}
    structured = {"key": draw(texts), "number": 1.5, "list": [True, None]}
    value: Any = {
        "text": draw(texts),
        "raw": draw(st.binary(min_size=1, max_size=9)),
        "url": "https://example.com/" + draw(names),
        "data": ParseDict(structured, Value()),
    }[kind]
    return Part(**{kind: value}, **named)


@st.composite
def messages(draw: st.DrawFn, role: Role = Role.ROLE_AGENT) -> Message:
    return Message(
        message_id=draw(names), role=role, parts=draw(st.lists(parts(), min_size=1, max_size=3)), context_id=draw(names)
    )


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    status = TaskStatus(state=draw(st.sampled_from(STATES)), message=draw(messages()))
    artifacts = [
        Artifact(artifact_id=f"a{number}", name=draw(names), parts=draw(st.lists(parts(), min_size=1, max_size=3)))
        for number in range(draw(st.integers(0, 3)))
    ]
    history = [draw(messages(Role.ROLE_USER)) for _ in range(draw(st.integers(0, 2)))]
    return Task(id=draw(names), context_id=draw(names), status=status, artifacts=artifacts, history=history)


def old_form(shape: Any) -> dict[str, Any]:
    """What a server of protocol 0.3 writes, by the official library."""
    dumped: dict[str, Any] = shape.model_dump(by_alias=True, exclude_none=True, mode="json")
    return dumped


def without_empty(told: Any) -> Any:
    """Without what the old form writes out and the new one leaves away."""
    if isinstance(told, dict):
        return {name: without_empty(value) for name, value in told.items() if value not in ([], {}, "")}
    return [without_empty(item) for item in told] if isinstance(told, list) else told


@given(tasks())
def test_a_task_of_the_old_form_reads_like_the_same_task_of_the_new_one(task: Task) -> None:
    new = MessageToDict(task)
    assert without_empty(read_task(old_form(conversions.to_compat_task(task)))) == without_empty(new)
    assert read_task(new) == new


@given(messages(Role.ROLE_USER))
def test_a_message_written_in_the_old_form_is_what_the_official_library_writes(message: Message) -> None:
    new = MessageToDict(message)
    assert without_empty(write_message_03(new)) == without_empty(old_form(conversions.to_compat_message(message)))


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_a_word_and_finds_back(state: str) -> None:
    assert state_name(state_word(state)) == state
    assert state_name(state) == state


def test_events_of_both_forms_are_told_apart_by_their_shape() -> None:
    status = {"state": "working"}
    told: list[dict[str, Any]] = [
        {"kind": "task", "id": "t", "contextId": "c", "status": status},
        {"id": "t", "status": status},
        {"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}},
        {"kind": "status-update", "taskId": "t", "status": status, "final": False},
        {"kind": "artifact-update", "taskId": "t", "artifact": {"artifactId": "a", "parts": []}},
        {"kind": "message", "messageId": "m", "role": "agent", "parts": []},
        {"messageId": "m", "role": "agent", "parts": []},
        {"kind": "surprise"},
        {},
    ]
    kinds = [next(iter(read_event(event)), None) for event in told]
    assert kinds == ["task", "task", "task", "statusUpdate", "artifactUpdate", "message", "message", None, None]


@given(st.recursive(st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(names, inner)))
def test_nonsense_in_the_places_of_things_breaks_no_reader(nonsense: Any) -> None:
    shapes = ("task", "message", "statusUpdate", "artifactUpdate")
    inner = {"status": nonsense, "parts": nonsense, "artifacts": nonsense, "artifact": nonsense, "history": nonsense}
    for told in ({name: value} for name in shapes for value in (nonsense, inner, {"artifact": inner})):
        run = RemoteRun()
        run.take(read_event(told))
        assert isinstance(run.text + run.said + run.state, str)


def update(artifact_id: str, text: str, *, append: bool = False) -> dict[str, Any]:
    event = TaskArtifactUpdateEvent(
        task_id="t", artifact=Artifact(artifact_id=artifact_id, parts=[Part(text=text)]), append=append
    )
    return MessageToDict(StreamResponse(artifact_update=event))


def test_pieces_of_text_join_to_what_the_whole_says() -> None:
    run = RemoteRun()
    events = [
        update("a", "One "),
        update("a", "two.", append=True),
        update("b", "Three"),
        update("b", ".", append=True),
    ]
    spoken = [run.take(event) for event in events]
    assert spoken == ["One ", "two.", "\n\nThree", "."]
    assert run.text == "".join(spoken)
    assert run.take(update("a", "!", append=True)) == "", "what comes out of order is not spoken"
    assert run.text == "One two.!\n\nThree."
    assert run.take(update("b", "Four.")) == ""
    assert run.text == "One two.!\n\nFour."


def test_a_run_is_told_by_whatever_comes_first() -> None:
    run = RemoteRun()
    status = TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED)
    event = TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    run.take(MessageToDict(StreamResponse(status_update=event)))
    assert (run.id, run.context_id, run.state, run.is_asking, run.is_resting) == (
        "t",
        "c",
        "input-required",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", ["https://a.example/.well-known/agent-card.json", "https://a.example/.well-known/agent.json"]),
        ("https://a.example/x/", ["https://a.example/x/.well-known/agent-card.json", "https://a.example/x/.well-known/agent.json"]),
        ("https://a.example/cards/main.json", ["https://a.example/cards/main.json"]),
        (" http://a.example/card.json?v=2#top ", ["http://a.example/card.json?v=2"]),
    ],
)  # fmt: skip
def test_a_card_is_looked_for_where_cards_lie(url: str, expected: list[str]) -> None:
    assert list(card_addresses(url)) == expected


def offer(*interfaces: tuple[str, str], url: str = "https://a.example/a2a") -> dict[str, Any]:
    listed = [{"url": url, "protocolBinding": binding, "protocolVersion": version} for binding, version in interfaces]
    return {"supportedInterfaces": listed}


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        (offer(("HTTP+JSON", "1.0"), ("JSONRPC", "1.0")), ("JSONRPC", "1.0")),
        (offer(("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")), ("HTTP+JSON", "1.0")),
        (offer(("GRPC", "1.0"), ("JSONRPC", "0.3.0")), ("JSONRPC", "0.3")),
        (offer(("JSONRPC", "1.0.1")), ("JSONRPC", "1.0")),
        ({"url": "https://a.example/"}, ("JSONRPC", "0.3")),
        (
            {"url": "https://a.example/", "protocolVersion": "0.2.6", "preferredTransport": "JSONRPC"},
            ("JSONRPC", "0.3"),
        ),
        (
            {
                "url": "https://a.example/grpc",
                "preferredTransport": "GRPC",
                "protocolVersion": "0.3.0",
                "additionalInterfaces": [{"url": "https://a.example/rpc", "transport": "JSONRPC"}],
            },
            ("JSONRPC", "0.3"),
        ),
    ],
)
def test_the_best_interface_of_a_card_is_chosen(card: dict[str, Any], expected: tuple[str, str]) -> None:
    interface = choose_interface(card, "https://a.example/.well-known/agent-card.json")
    assert (interface.binding, interface.version) == expected


@pytest.mark.parametrize(
    "card", [{}, offer(("GRPC", "1.0")), offer(("JSONRPC", "2.0")), offer(("HTTP+JSON", "0.3")), {"url": 7}]
)
def test_a_card_without_a_way_says_which_ways_there_are(card: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"JSONRPC 1\.0, HTTP\+JSON 1\.0 or JSONRPC 0\.3"):
        choose_interface(card, "https://a.example/.well-known/agent-card.json")


def test_a_card_that_came_encrypted_leads_to_no_open_line() -> None:
    card = offer(("JSONRPC", "1.0"), url="http://a.example/a2a")
    with pytest.raises(ValueError, match="encrypted"):
        choose_interface(card, "https://a.example/.well-known/agent-card.json")
    assert choose_interface(card, "http://a.example/card.json").url == "http://a.example/a2a"


def test_an_interface_may_be_relative_to_its_card() -> None:
    card = offer(("JSONRPC", "1.0"), url="/a2a/main")
    assert choose_interface(card, "https://a.example/cards/main.json").url == "https://a.example/a2a/main"


def test_a_tenant_goes_where_each_binding_wants_it() -> None:
    rest = A2aSpeech(A2aInterface(url="https://a.example/x/", binding="HTTP+JSON", version="1.0", tenant="t/1"))
    assert rest.get("id 1", history=3).url == "https://a.example/x/t%2F1/tasks/id%201?historyLength=3"
    rpc = A2aSpeech(A2aInterface(url="https://a.example/x", binding="JSONRPC", version="1.0", tenant="t/1"))
    assert json.loads(rpc.cancel("id 1").body)["params"] == {"id": "id 1", "tenant": "t/1"}


def test_an_error_has_the_reason_that_either_binding_gives_it() -> None:
    rpc = A2aSpeech(A2aInterface(url="https://a.example", binding="JSONRPC", version="1.0"))
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
