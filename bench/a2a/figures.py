"""The figures of A2A compared with the SDK's server, and of our long lists compared with short ones."""

import contextlib
import importlib.util
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import uvloop

from bench.a2a.load import Driven, Served, asked, call, drive, send
from bench.a2a.shape import CONTEXTS, SAID
from bench.figures import Bar, Figure, at_least, at_most, compared, skipped, tell

NAME = "a2a"
TASKS = 100_000
FEW_TASKS = 1_000
CLIENTS = 16
REPEATS = 3
OUR_SENDS, THEIR_SENDS = 2_000, 200
OUR_GETS, THEIR_GETS = 4_000, 600
OUR_LISTS, THEIR_LISTS = 400, 10
PAGE = 50
PAGE_TURNED = 10
SDK = "the SDK's server"
NEEDED = ("aiosqlite", "sqlalchemy", "sse_starlette")

Bodies = Callable[[Served, int], list[bytes]]


def measure(durability: str) -> list[Figure]:
    """Return all figures of this benchmark, or why they are skipped if the SDK's server is not installed."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return [skipped(NAME, "everything", f"{', '.join(missing)} not installed; install the extra `bench`")]
    return uvloop.run(_figures(durability))


@contextlib.contextmanager
def our_server(durability: str, tasks: int, **more: str) -> Iterator[Served]:
    """Run our server with that many tasks; `more` is its environment."""
    environment = {"CARREL_STORAGE__DURABILITY": durability, "CARREL_LOG__LEVEL": "warning", **more}
    with tempfile.TemporaryDirectory(prefix="carrel-bench-a2a-") as name:
        served = Served(
            "bench.a2a.our_server", Path(name), durability, str(tasks), path="/a2a/main", **environment
        )  # fmt: skip
        try:
            yield served
        finally:
            served.close()


@contextlib.contextmanager
def sdk_server(durability: str, tasks: int) -> Iterator[Served]:
    """Run the SDK's server with that many tasks."""
    with tempfile.TemporaryDirectory(prefix="sdk-bench-a2a-") as name:
        served = Served("bench.a2a.sdk_server", Path(name), durability, str(tasks))
        try:
            yield served
        finally:
            served.close()


async def _figures(durability: str) -> list[Figure]:
    tell(f"a2a: creating {TASKS:,} tasks on both sides")
    with our_server(durability, TASKS) as ours, sdk_server(durability, TASKS) as theirs:
        sides = (ours, theirs)
        ids = {served.url: await _some_ids(served) for served in sides}
        tokens = {served.url: await _page_token(served) for served in sides}
        figures = [
            *await _sends(sides, "SendMessage in a known context", known=True),
            *await _sends(sides, "SendMessage in a context of its own", known=False),
            *await _sends(sides, "SendMessage, returnImmediately", known=True, at_once=True),
            *await _gets(sides, ids),
            *await _lists(sides, "first page", lambda _, n: [_list() for _ in range(n)]),
            *await _lists(sides, "a page by its token", lambda to, n: [_list(pageToken=tokens[to.url])] * n),
            *await _lists(
                sides,
                "of a context",
                lambda _, n: [_list(contextId=f"context-{random.randrange(CONTEXTS)}") for _ in range(n)],
            ),
            *await _lists(sides, "of a state", lambda _, n: [_list(status="TASK_STATE_FAILED")] * n),
        ]
        return [*figures, *await _growth(durability, ours, tokens[ours.url])]


async def _sends(sides: tuple[Served, Served], name: str, *, known: bool, at_once: bool = False) -> list[Figure]:
    def bodies(_: Served, count: int) -> list[bytes]:
        # Each client has one context and waits for each response, so that nothing queues on either side.
        contexts = itertools.cycle([f"bench-{at}" if known else "" for at in range(CLIENTS)])
        return [
            send(SAID, f"said-{random.getrandbits(64):x}", context_id=context, at_once=at_once)
            for context, _ in zip(contexts, range(count), strict=False)
        ]

    return await _pairs(sides, name, "sends", bodies, (OUR_SENDS, THEIR_SENDS), CLIENTS, at_least(6), late=at_most(1))


async def _gets(sides: tuple[Served, Served], ids: dict[str, list[str]]) -> list[Figure]:
    def bodies(served: Served, count: int) -> list[bytes]:
        return [call("GetTask", id=random.choice(ids[served.url])) for _ in range(count)]

    return await _pairs(sides, "GetTask", "gets", bodies, (OUR_GETS, THEIR_GETS), CLIENTS, at_least(3))


async def _lists(sides: tuple[Served, Served], name: str, bodies: Bodies) -> list[Figure]:
    title = f"ListTasks on {TASKS:,}, {name}"
    return await _pairs(sides, title, "pages", bodies, (OUR_LISTS, THEIR_LISTS), 1, at_least(50))


async def _pairs(
    sides: tuple[Served, Served],
    name: str,
    what: str,
    bodies: Bodies,
    counts: tuple[int, int],
    clients: int,
    bar: Bar,
    late: Bar | None = None,
) -> list[Figure]:
    """Measure both sides in turn; the figure by CPU time has the bar, the one by the clock is for information."""
    tell(f"a2a: {name}")
    driven: list[tuple[Driven, Driven]] = []
    for _ in range(REPEATS):
        ours, theirs = [
            await drive(served, bodies(served, count), clients) for served, count in zip(sides, counts, strict=True)
        ]
        driven.append((ours, theirs))
    sizes = f"answers of {driven[-1][0].answer_bytes:,.0f} and {driven[-1][1].answer_bytes:,.0f} bytes"
    cores = [(ours.per_core_second, theirs.per_core_second) for ours, theirs in driven]
    clock = [(ours.per_second, theirs.per_second) for ours, theirs in driven]
    p95 = [(ours.p95_ms, theirs.p95_ms) for ours, theirs in driven]
    return [
        compared(NAME, name, f"{what}/core-s", cores, yardstick=SDK, bar=bar, note=sizes),
        compared(NAME, f"{name}, by the clock", f"{what}/s", clock, yardstick=SDK, note=f"{clients} clients"),
        compared(NAME, f"{name}, p95", "ms", p95, yardstick=SDK, bar=late),
    ]


async def _growth(durability: str, many: Served, token: str) -> list[Figure]:
    """Compare our pages of many tasks with those of few."""
    tell(f"a2a: lists on {FEW_TASKS:,} tasks")
    ways = {
        "first page": {},
        "a page by its token": {"pageToken": token},
        "of a state": {"status": "TASK_STATE_FAILED"},
    }
    figures = []
    with our_server(durability, FEW_TASKS) as few:
        few_token = await _page_token(few)
        for name, params in ways.items():
            pairs = []
            for _ in range(REPEATS):
                short = params | ({"pageToken": few_token} if "pageToken" in params else {})
                long_ = await drive(many, [_list(**params)] * OUR_LISTS, 1)
                brief = await drive(few, [_list(**short)] * OUR_LISTS, 1)
                pairs.append((1000 / long_.per_core_second, 1000 / brief.per_core_second))
            title = f"ListTasks, {name}, on {TASKS:,}"
            figures.append(
                compared(NAME, title, "core-ms", pairs, yardstick=f"on {FEW_TASKS:,}", bar=at_most(1.25))
            )  # fmt: skip
    return figures


def _list(**params: object) -> bytes:
    return call("ListTasks", pageSize=PAGE, **params)


async def _some_ids(served: Served) -> list[str]:
    """Return the ids of tasks from all over the store."""
    found: list[str] = []
    for context in random.sample(range(CONTEXTS), 10):
        page = await asked(served.url, served.token, _list(contextId=f"context-{context}"))
        found += [task["id"] for task in page["tasks"]]
    return found


async def _page_token(served: Served) -> str:
    token = ""
    for _ in range(PAGE_TURNED):
        token = (await asked(served.url, served.token, _list(pageToken=token)))["nextPageToken"]
    return token
