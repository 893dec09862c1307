"""What must hold afterwards, looked up in the store, in the gateway's notes and in what the clients were told."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from carrel.storage import Row, open_database
from tests.chaos.clients import Follower, Said
from tests.chaos.gateway import Interval, reply_to

LEFT_RUNNING = (
    "run.completed",
    "run.failed",
    "run.cancelled",
    "run.retrying",
    "run.held",
    "run.rescued",
    "run.waiting",
)
ENDS = ("completed", "failed", "cancelled")


@dataclass(frozen=True)
class Evidence:
    """The rows of the store after the last server has stopped."""

    runs: list[Row]
    events: list[Row]
    artifacts: list[Row]
    heard: list[Row]
    lanes: list[Row]


async def read_evidence(url: str) -> Evidence:
    """Everything the checks look at."""
    db = open_database(url)
    try:
        return await db.read(
            lambda tx: Evidence(
                runs=tx.all("SELECT id, key, seq, text, state, reply, reason, error_code FROM runs ORDER BY seq"),
                events=tx.all("SELECT seq, name, key, run_id, body FROM events ORDER BY seq"),
                artifacts=tx.all("SELECT run_id, name FROM artifacts"),
                heard=tx.all("SELECT run_id, role FROM entries WHERE role IN ('user', 'assistant')"),
                lanes=tx.all("SELECT key, depth FROM lanes"),
            )
        )
    finally:
        await db.close()


def violations(said: Said, evidence: Evidence, intervals: list[Interval], follower: Follower) -> list[str]:
    """Every broken promise, one sentence each."""
    return [
        *said.contradictions,
        *_answered_once(said, evidence),
        *_told_once(evidence),
        *_one_at_a_time_by_events(evidence),
        *_one_at_a_time_by_requests(intervals),
        *_in_order(evidence, intervals),
        *_written_once(evidence),
        *_followed(follower, evidence),
        *_counted(evidence),
    ]


def _answered_once(said: Said, evidence: Evidence) -> Iterator[str]:
    by_id = {row[0]: row for row in evidence.runs}
    for (lane, number), run_id in said.runs.items():
        row = by_id.get(run_id)
        if row is None:
            yield f"{lane} {number} was accepted as {run_id} and is lost"
            continue
        _, _, _, text, state, reply, reason, error_code = row
        if text.split()[:2] != [lane, str(number)]:
            yield f"{run_id} was accepted for {lane} {number} and holds {text!r}"
        if state not in ENDS:
            yield f"{run_id} ({text}) is still {state}"
        elif state == "completed" and reply != reply_to(lane, number):
            yield f"{run_id} ({text}) was answered {reply!r}"
        elif state != "completed" and not (reason or error_code):
            yield f"{run_id} ({text}) is {state} and nothing says why"
    for text, count in Counter(row[3] for row in evidence.runs).items():
        if count > 1:
            yield f"{text!r} became {count} runs"
    acknowledged = set(said.runs.values())
    yield from (f"{row[0]} ({row[3]}) was never acknowledged" for row in evidence.runs if row[0] not in acknowledged)


def _told_once(evidence: Evidence) -> Iterator[str]:
    for (run_id, role), count in Counter(evidence.heard).items():
        if count > 1:
            yield f"{run_id} has {count} entries of {role}"
    ends = Counter(row[3] for row in evidence.events if row[1] in ("run.completed", "run.failed", "run.cancelled"))
    for row in evidence.runs:
        if row[4] in ENDS and ends[row[0]] != 1:
            yield f"{row[0]} ended and the feed tells so {ends[row[0]]} times"


def _one_at_a_time_by_events(evidence: Evidence) -> Iterator[str]:
    running: dict[str, str] = {}
    for seq, name, key, run_id, _ in evidence.events:
        if name == "run.started":
            if key in running:
                yield f"event {seq}: {run_id} started in {key} while {running[key]} was running"
            running[key] = run_id
        elif name in LEFT_RUNNING and running.get(key) == run_id:
            del running[key]


def _one_at_a_time_by_requests(intervals: list[Interval]) -> Iterator[str]:
    for lane, asked in _by_lane(intervals).items():
        for one, other in pairwise(sorted(asked, key=lambda interval: interval.began)):
            if other.began < one.ended:
                yield f"the gateway was asked for {lane} {other.number} while it still answered {lane} {one.number}"


def _in_order(evidence: Evidence, intervals: list[Interval]) -> Iterator[str]:
    number_of = {row[0]: int(row[3].split()[1]) for row in evidence.runs}
    started: dict[str, list[int]] = defaultdict(list)
    for _, name, key, run_id, _ in evidence.events:
        if name == "run.started" and run_id in number_of:
            started[key].append(number_of[run_id])
    for key, numbers in started.items():
        if numbers != sorted(numbers):
            yield f"{key} started its runs in the order {numbers}"
    for lane, asked in _by_lane(intervals).items():
        if any(other.number < one.number for one, other in pairwise(asked)):
            yield f"the gateway was asked for {lane} in the order {[interval.number for interval in asked]}"


def _by_lane(intervals: list[Interval]) -> dict[str, list[Interval]]:
    lanes: dict[str, list[Interval]] = defaultdict(list)
    for interval in intervals:
        lanes[interval.lane].append(interval)
    return lanes


def _written_once(evidence: Evidence) -> Iterator[str]:
    kind_of = {row[0]: row[3].split()[2] for row in evidence.runs}
    written = Counter(evidence.artifacts)
    yield from (
        f"{run_id} added the artifact {name} {count} times" for (run_id, name), count in written.items() if count > 1
    )
    for row in evidence.runs:
        wanted = {"write": ("one",), "twice": ("one", "two")}.get(kind_of[row[0]], ())
        if row[4] == "completed" and any(not written[(row[0], name)] for name in wanted):
            yield f"{row[0]} ({row[3]}) is completed and its artifact is not there"


def _followed(follower: Follower, evidence: Evidence) -> Iterator[str]:
    yield from follower.resets
    # Entries are still being sorted when the follower has caught up and leaves.
    stored = [row[0] for row in evidence.events if row[0] <= follower.until]
    seen = [number for number in follower.seen if number <= follower.until]
    if seen != stored:
        missing, more = set(stored) - set(seen), Counter(seen) - Counter(stored)
        order = seen == sorted(seen)
        yield f"the follower missed {sorted(missing)[:9]}, saw too much {sorted(more)[:9]}, in order: {order}"


def _counted(evidence: Evidence) -> Iterator[str]:
    live = Counter(row[1] for row in evidence.runs if row[4] in ("queued", "running"))
    for key, depth in evidence.lanes:
        if depth != live[key]:
            yield f"{key} counts {depth} runs and holds {live[key]}"
