"""A remote task assembled from events in any order."""

from typing import Any

from a2a.types import Artifact, Part, StreamResponse, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent
from a2a.types.a2a_pb2 import TaskState
from google.protobuf.json_format import MessageToDict

from carrel.a2a import RemoteTask


def update(artifact_id: str, text: str, *, append: bool = False) -> dict[str, Any]:
    event = TaskArtifactUpdateEvent(
        task_id="t", artifact=Artifact(artifact_id=artifact_id, parts=[Part(text=text)]), append=append
    )
    return MessageToDict(StreamResponse(artifact_update=event))


def test_added_texts_join_to_the_whole_text() -> None:
    task = RemoteTask()
    events = [
        update("a", "One "),
        update("a", "two.", append=True),
        update("b", "Three"),
        update("b", ".", append=True),
    ]
    added = [task.apply(event) for event in events]
    assert added == ["One ", "two.", "\n\nThree", "."]
    assert task.text == "".join(added)
    assert task.apply(update("a", "!", append=True)) == "", "text that arrives out of order adds nothing"
    assert task.text == "One two.!\n\nThree."
    assert task.apply(update("b", "Four.")) == ""
    assert task.text == "One two.!\n\nFour."


def test_a_task_can_start_with_any_event() -> None:
    task = RemoteTask()
    status = TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED)
    event = TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    task.apply(MessageToDict(StreamResponse(status_update=event)))
    assert (task.id, task.context_id, task.state, task.is_asking, task.is_settled) == (
        "t",
        "c",
        "input-required",
        True,
        True,
    )
