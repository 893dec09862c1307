"""The outbox of a bridge: its limits, its file, and several bridges at one."""

import threading
from pathlib import Path

import pytest

from carrel.bridge import BridgeFault
from carrel.bridge import outbox as outbox_module
from tests.bridge.road import Road
from tests.bridge.test_recorder import SECONDS_MAX, bridge_to, said


def test_a_full_queue_says_so(road: Road, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "WAITING_MAX", 2)
    road.away()
    with bridge_to(road, path) as bridge:
        bridge.record(said("1"))
        bridge.record(said("2"))
        with pytest.raises(BridgeFault, match="2 entries wait to be sent"):
            bridge.record(said("3"))


def test_two_bridges_share_a_queue_and_its_order(road: Road, path: str) -> None:
    """The second one sends only after the first has left; what it adds is sent by the first."""
    with bridge_to(road, path) as first, bridge_to(road, path) as second:
        for number in range(20):
            (first if number % 2 else second).record(said(f"line {number}"))
        assert second.flush(SECONDS_MAX)
        assert road.repeated == 0
        first.close()
        second.record(said("line 20"))
        assert second.flush(SECONDS_MAX)
    assert [entry["content"] for entry in road.entries] == [f"line {number}" for number in range(21)]


def test_threads_may_record_at_the_same_time(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:

        def write(name: int) -> None:
            for number in range(20):
                bridge.record(said(f"{name}:{number}"))

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS_MAX)
        assert bridge.flush(SECONDS_MAX)
    texts = [entry["content"] for entry in road.entries]
    assert len(set(texts)) == len(texts) == 80
    for name in range(4):
        assert [text for text in texts if text.startswith(f"{name}:")] == [f"{name}:{number}" for number in range(20)]


def test_a_queue_that_cannot_be_opened_says_so(road: Road, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BridgeFault, match="choose another queuePath"):
        bridge_to(road, str(tmp_path / "file" / "queue.sqlite"))


def test_the_queue_is_readable_by_its_owner_only(road: Road, path: str) -> None:
    with bridge_to(road, path) as bridge:
        bridge.record(said("hi"))
        for file in Path(path).parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file
