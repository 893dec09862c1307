"""What waits is sent in order, once, and what is refused holds up nothing."""

import json

import pytest

from carrel.bridge import sender as sender_module
from tests.bridge.road import Road
from tests.bridge.test_recorder import SECONDS_MAX, bridge_to, said
from tests.requirements.mark import requirement


@requirement("S4.bridge.queue")
def test_entries_of_an_absence_arrive_once_and_in_order(road: Road, path: str) -> None:
    road.away()
    with bridge_to(road, path) as bridge:
        for number in range(30):
            bridge.record(said(f"line {number}"))
        assert not bridge.flush(0.3)
        road.back()
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in road.entries] == [f"line {number}" for number in range(30)]


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("queued", [False, True])
def test_an_entry_whose_answer_was_lost_is_stored_once(road: Road, path: str, queued: bool) -> None:
    road.lose_answers(3)
    with bridge_to(road, path, queue=queued) as bridge:
        for number in range(5):
            bridge.record(said(f"line {number}"))
        assert bridge.flush(SECONDS_MAX)
    assert [entry["content"] for entry in road.entries] == [f"line {number}" for number in range(5)]
    assert road.repeated > 0


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_refusal_that_may_pass_keeps_the_entry(road: Road, path: str, status: int) -> None:
    road.refuse("line 1", status, times=2)
    with bridge_to(road, path) as bridge:
        for number in range(3):
            bridge.record(said(f"line {number}"))
        assert bridge.flush(SECONDS_MAX)
        assert bridge.refused() == []
    assert [entry["content"] for entry in road.entries] == ["line 0", "line 1", "line 2"]


@pytest.mark.parametrize(("status", "queued"), [(400, False), (413, False), (422, True), (400, True)])
def test_an_entry_that_is_never_taken_is_put_aside_and_holds_up_no_other(
    road: Road, path: str, status: int, queued: bool
) -> None:
    road.away()
    road.refuse("line 1", status)
    with bridge_to(road, path, queue=queued) as bridge:
        for number in range(3):
            bridge.record(said(f"line {number}"))
        road.back()
        assert bridge.flush(SECONDS_MAX)
        ((body, reason),) = bridge.refused()
    assert (json.loads(body)["content"], reason) == ("line 1", "No.")
    assert [entry["content"] for entry in road.entries] == ["line 0", "line 2"]


def test_an_entry_that_names_a_missing_topic_is_put_aside(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record(said("line 1", topicId="gone"))
        bridge.record(said("line 2"))
        assert bridge.flush(SECONDS_MAX)
        assert len(bridge.refused()) == 1
    assert [entry["content"] for entry in road.entries] == ["line 2"]


@requirement("S4.bridge.knobs")
def test_queue_chooses_ingest_and_sends_several_at_a_time(road: Road, path: str) -> None:
    road.away()
    with bridge_to(road, path, queue=True) as bridge:
        for number in range(250):
            bridge.record(said(f"line {number}"))
        road.back()
        assert bridge.flush(SECONDS_MAX)
    assert {asked for method, asked in road.asked if method == "POST"} == {"/api/ingest"}
    assert [entry["content"] for entry in road.entries] == [f"line {number}" for number in range(250)]
    assert max(road.batches) == sender_module.BATCH_MAX
