"""What the proofs of A2A under load call a fault; a proof that finds nothing wrong in anything proves nothing."""

from typing import Any

import httpx
import pytest

from bench.a2a.figures import our_server
from bench.a2a.proofs import list_faults, stream_fault
from bench.a2a.shape import ANSWER

DONE = "TASK_STATE_COMPLETED"


def told(kind: str, generation: int, state: str = "") -> dict[str, Any]:
    """An event of a stream, with what the proof looks at."""
    return {kind: {"metadata": {"generation": generation}, "status": {"state": state}}}


BEGUN, WORKING, ENDED = told("task", 1), told("statusUpdate", 2), told("statusUpdate", 4, DONE)
RESULT = told("artifactUpdate", 3)


def test_our_side_of_the_benchmark_starts_and_replies() -> None:
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    with our_server("normal", 0) as served:
        headers = {"authorization": f"Bearer {served.token}", "a2a-version": "1.0"}
        replied = httpx.post(served.url, json=body, headers=headers, timeout=30)
    assert ANSWER in replied.text


def test_a_stream_that_tells_everything_has_no_fault() -> None:
    assert stream_fault([BEGUN, WORKING, RESULT, ENDED]) == ""


@pytest.mark.parametrize(
    "events",
    [[], [WORKING, RESULT, ENDED], [BEGUN, WORKING, ENDED], [BEGUN, RESULT, WORKING, ENDED], [BEGUN, WORKING, RESULT]],
    ids=["nothing", "no task first", "a change is missing", "two are turned round", "no end"],
)
def test_a_stream_that_loses_or_turns_round_anything_has_one(events: list[dict[str, Any]]) -> None:
    assert stream_fault(events)


def test_a_list_is_compared_with_what_was_accepted() -> None:
    assert list_faults({"a", "b"}, {"a": DONE, "b": DONE}) == []
    assert list_faults({"a", "b"}, {"a": DONE, "c": "TASK_STATE_FAILED"}) == [
        "b is lost",
        "c has no sender",
        "c ended TASK_STATE_FAILED",
    ]
