"""The shapes of A2A: values of protocol 0.3 are read as values of 1.0, and messages are written back."""

from typing import Any

import pytest
from a2a.compat.v0_3 import conversions
from a2a.types import Artifact, Message, Part, Role, Task, TaskStatus
from a2a.types.a2a_pb2 import TaskState
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from hypothesis import given
from hypothesis import strategies as st

from carrel.a2a import RemoteTask, state_name
from carrel.a2a.shapes import read_event, read_task, short_state, write_message_03

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
    """Return what a server of protocol 0.3 writes, according to the official SDK."""
    dumped: dict[str, Any] = shape.model_dump(by_alias=True, exclude_none=True, mode="json")
    return dumped


def without_empty(value: Any) -> Any:
    """Drop the empty values that 0.3 writes and 1.0 omits."""
    if isinstance(value, dict):
        return {name: without_empty(inner) for name, inner in value.items() if inner not in ([], {}, "")}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


@given(tasks())
def test_a_0_3_task_reads_like_the_same_1_0_task(task: Task) -> None:
    new = MessageToDict(task)
    assert without_empty(read_task(old_form(conversions.to_compat_task(task)))) == without_empty(new)
    assert read_task(new) == new


@given(messages(Role.ROLE_USER))
def test_a_message_written_as_0_3_equals_what_the_official_sdk_writes(message: Message) -> None:
    new = MessageToDict(message)
    assert without_empty(write_message_03(new)) == without_empty(old_form(conversions.to_compat_message(message)))


@pytest.mark.parametrize("state", STATES)
def test_every_state_survives_the_short_form_and_back(state: str) -> None:
    assert state_name(short_state(state)) == state
    assert state_name(state) == state


def test_events_of_both_versions_are_recognized_by_their_shape() -> None:
    status = {"state": "working"}
    events: list[dict[str, Any]] = [
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
    kinds = [next(iter(read_event(event)), None) for event in events]
    assert kinds == ["task", "task", "task", "statusUpdate", "artifactUpdate", "message", "message", None, None]


@given(st.recursive(st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(names, inner)))
def test_no_reader_breaks_on_values_of_the_wrong_type(nonsense: Any) -> None:
    shapes = ("task", "message", "statusUpdate", "artifactUpdate")
    inner = {"status": nonsense, "parts": nonsense, "artifacts": nonsense, "artifact": nonsense, "history": nonsense}
    for value in ({name: field} for name in shapes for field in (nonsense, inner, {"artifact": inner})):
        task = RemoteTask()
        task.apply(read_event(value))
        assert isinstance(task.text + task.status_text + task.state, str)
