"""The canary's checks find what they should, and nothing else."""

import json
from typing import Any

import pytest

from tests.canary.checks import Evidence, Received, leaks
from tests.canary.marks import Mark, marks_in

KEY = "agent:writer:task:t1"
MAIN = "agent:writer:main"
OWN = Mark("default", "t1", "1", "message", 1)
PLACES = {("default", KEY, 2): 1, ("default", KEY, 1): 0, ("default", MAIN, 1): 0}


def _leaks(mark: Mark, *, key: str = KEY, generation: int = 2, **more: Any) -> list[str]:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"look: {mark}"}]}
    return _found([item], key, generation, **more)


def _found(items: list[dict[str, Any]], key: str = KEY, generation: int = 2, **more: Any) -> list[str]:
    body = json.dumps({"input": items}, ensure_ascii=False)
    return leaks(Evidence(requests=[Received("default", key, generation, body)], epochs=PLACES, **more))


def test_a_mark_is_read_as_it_was_written() -> None:
    assert marks_in(f"before {OWN} after") == {OWN}


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (OWN._replace(account="other"), "another account"),
        (OWN._replace(place="t2"), "another task"),
        (OWN._replace(place="t2", what="title"), "another task"),
        (OWN._replace(place="writer+main"), "another task"),
        (OWN._replace(when="0"), "before the reopening"),
        (OWN._replace(when="v1", what="writer"), "before the reopening"),
    ],
)
def test_a_foreign_mark_in_a_request_of_a_task_is_reported(mark: Mark, why: str) -> None:
    (told,) = _leaks(mark)
    assert why in told


@pytest.mark.parametrize("mark", [OWN, OWN._replace(when="v2", what="writer"), OWN._replace(when="0", what="title")])
def test_what_belongs_to_a_task_is_not_reported(mark: Mark) -> None:
    assert _leaks(mark) == []


def test_a_message_that_waited_for_its_agent_over_a_reopening_is_not_reported() -> None:
    late = OWN._replace(when="0")
    assert _leaks(late, carried={late: 1}) == []


def test_an_orchestrator_chat_may_hold_titles_and_the_briefing_of_its_account_and_nothing_else() -> None:
    chat = {"default": "t1"}
    assert _leaks(OWN._replace(place="t2", what="title"), chats=chat) == []
    assert _leaks(OWN._replace(place="briefing", what="briefing"), chats=chat) == []
    assert _leaks(OWN._replace(place="briefing", what="briefing"))
    assert _leaks(OWN._replace(place="t2"), chats=chat)
    assert _leaks(OWN._replace(account="other", what="title"), chats=chat)


def test_a_base_lane_may_hold_what_is_on_the_board_but_nothing_of_another_chat() -> None:
    assert _leaks(OWN, key=MAIN, generation=1) == []
    assert _leaks(OWN._replace(place="writer+main"), key=MAIN, generation=1) == []
    for place in ("checker+main", "writer+web:chat-one"):
        assert _leaks(OWN._replace(place=place), key=MAIN, generation=1)
    assert _leaks(OWN._replace(account="other"), key=MAIN, generation=1)


@pytest.mark.parametrize(("tool", "leaked"), [("task_history", 0), ("sessions_list", 1)])
def test_only_the_output_of_a_call_that_reads_a_task_may_hold_more(tool: str, leaked: int) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": tool, "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": str(OWN._replace(when="0"))}
    assert len(_found([call, output])) == leaked
    # Never another account's.
    assert _found([call, output | {"output": str(OWN._replace(account="other"))}])
