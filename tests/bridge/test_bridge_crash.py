"""The outbox of a bridge survives the death of its process and the absence of its server."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from carrel.bridge import Bridge
from tests.bridge.road import Road
from tests.requirements.mark import requirement

ROUNDS = 6
# A writer may get far before it is killed, and each of its lines is a request: enough for thousands of them.
SECONDS_MAX = 80.0
# Records lines for ever, and says of each one on stdout that it is kept.
WRITER = """
import itertools, sys
from carrel.bridge import Bridge
bridge = Bridge(baseUrl=sys.argv[1], queuePath=sys.argv[2], queue=sys.argv[4] == "True", token=sys.argv[5])
for number in itertools.count():
    bridge.record({"kind": "inbound", "sessionKey": "s", "text": f"{sys.argv[3]} {number}"})
    print(number, flush=True)
"""


def write_until_killed(road: Road, path: Path, name: int, lines: int, *, queued: bool) -> int:
    """Let a process record lines and kill it in the middle of that; return the number of the last that it kept."""
    command = [sys.executable, "-c", WRITER, road.url, str(path), str(name), str(queued), road.token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(lines):
            assert writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        return lines - 1 + len(writer.stdout.read().split())


@requirement("S4.bridge.queue")
@pytest.mark.parametrize("queued", [False, True], ids=["log", "ingest"])
def test_every_line_arrives_once_and_in_order_whoever_dies(road: Road, tmp_path: Path, queued: bool) -> None:
    chance, path, kept = random.Random(7), tmp_path / "queue.sqlite", []
    for name in range(ROUNDS):
        # The server is away at first, then there, then loses answers.
        road.away() if name % 3 == 0 else road.back()
        road.lose_answers(chance.randrange(1, 4) if name % 3 == 2 else 0)
        kept.append(write_until_killed(road, path, name, chance.randrange(5, 30), queued=queued))
    road.back()
    with Bridge(baseUrl=road.url, queuePath=str(path), queue=queued, token=road.token) as bridge:
        assert bridge.flush(SECONDS_MAX)
    arrived = [(int(name), int(number)) for name, number in (entry["content"].split() for entry in road.entries)]
    # The last line may have been kept in the moment before its process could say so.
    counts = [sum(name == each for each, _ in arrived) for name in range(ROUNDS)]
    assert all(known < count <= known + 2 for known, count in zip(kept, counts, strict=True)), "a line is missing"
    assert arrived == [(name, number) for name, count in enumerate(counts) for number in range(count)]
