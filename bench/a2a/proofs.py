"""Load that must lose, duplicate or reorder nothing: a thousand streams, and clients that share contexts."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from msgspec import Struct, field

from bench.a2a.figures import our_server
from bench.a2a.load import Connection, asked, call, send
from bench.a2a.shape import HELD, RELEASING, SAID
from bench.figures import Figure, at_most, plain, tell
from bench.two_workers import faults_in
from carrel.storage import open_database

NAME = "a2a_load"
STREAMS = 1_000
CLIENTS, MESSAGES, CONTEXTS = 200, 50, 20
REPEAT_CHANCE = 0.1
SECONDS_MAX = 180
PAGE = 100
_DONE = "TASK_STATE_COMPLETED"


class Flood(Struct, kw_only=True):
    """What the clients saw: the task of every message, and contradictions."""

    tasks: dict[str, str] = field(default_factory=dict)
    contexts: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def measure_load(durability: str) -> list[Figure]:
    """Return all proofs; each figure counts errors and must be 0."""
    return [*uvloop.run(_streams(durability)), *uvloop.run(_flood(durability))]


async def _streams(durability: str) -> list[Figure]:
    """Follow many working tasks at once until all of them end."""
    tell(f"a2a_load: {STREAMS:,} streams")
    with our_server(durability, 0, CARREL_RUNS__CONCURRENCY=str(STREAMS + 10)) as served:
        faults, seconds = await stream_faults(served.url, served.token, STREAMS)
    note = "; ".join(faults[:3])
    return [
        plain(NAME, f"{STREAMS:,} streams: events lost or out of order", "", len(faults), bar=at_most(0), note=note),
        plain(NAME, f"{STREAMS:,} streams: from the release to the last end", "s", seconds),
    ]


async def stream_faults(url: str, token: str, streams: int) -> tuple[list[str], float]:
    """Open the streams, wait until every task works, then release them; return the errors and the time to the end."""
    connections = [await Connection.open(url, token) for _ in range(streams)]
    working = asyncio.Semaphore(0)
    told: list[list[dict[str, Any]]] = [[] for _ in range(streams)]

    async def follow(at: int) -> None:
        async for event in connections[at].follow(_streaming(at)):
            told[at].append(event)
            if "WORKING" in _state(event):
                working.release()

    async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as group:
        for at in range(streams):
            group.create_task(follow(at))
        for _ in range(streams):
            await working.acquire()
        begun = asyncio.get_running_loop().time()
        await asked(url, token, send(SAID, "release", context_id=f"all{RELEASING}"))
    seconds = asyncio.get_running_loop().time() - begun
    return [f"stream {at}: {fault}" for at, events in enumerate(told) if (fault := stream_fault(events))], seconds


def _streaming(at: int) -> bytes:
    message = {"messageId": f"stream-{at}", "role": "ROLE_USER", "parts": [{"text": SAID}], "contextId": f"c{at}{HELD}"}
    return call("SendStreamingMessage", message=message)


def stream_fault(events: list[dict[str, Any]]) -> str:
    """Return what is wrong with one stream, which must start with its task, miss no change and end with it."""
    if not events or "task" not in events[0]:
        return "did not start with its task"
    changes = [next(iter(event.values()))["metadata"]["generation"] for event in events]
    if changes != list(range(int(changes[0]), int(changes[0]) + len(changes))):
        return f"reported the changes {changes}"
    return "" if _state(events[-1]) == _DONE else f"ended with {events[-1]}"


def _state(event: dict[str, Any]) -> str:
    told = event.get("task") or event.get("statusUpdate") or {}
    return str(told.get("status", {}).get("state", ""))


async def _flood(durability: str) -> list[Figure]:
    tell(f"a2a_load: {CLIENTS} clients with {MESSAGES} messages each in {CONTEXTS} contexts")
    with our_server(durability, 0) as served:
        flood = await flooded(served.url, served.token, clients=CLIENTS, messages=MESSAGES, contexts=CONTEXTS, seed=1)
        faults = await flood_faults(served.url, served.token, flood)
        await asyncio.to_thread(served.stop)
        faults += await order_faults(served.folder)
    told = f"{CLIENTS * MESSAGES:,} messages in {CONTEXTS} contexts: lost, doubled or out of order"
    return [plain(NAME, told, "", len(faults), bar=at_most(0), note="; ".join(faults[:3]))]


async def flooded(url: str, token: str, *, clients: int, messages: int, contexts: int, seed: int) -> Flood:
    """Let every client send its messages to random contexts, and repeat some of them."""
    flood = Flood()

    async def client(at: int) -> None:
        chance = random.Random(f"{seed} {at}")
        connection = await Connection.open(url, token)
        for n in range(messages):
            name, context_id = f"said-{seed}-{at}-{n}", f"shared-{seed}-{chance.randrange(contexts)}"
            for _ in range(2 if chance.random() < REPEAT_CHANCE else 1):
                body = send(f"{at} {n}", name, context_id=context_id, at_once=True)
                task = msgspec.json.decode(await connection.ask(body))["result"]["task"]
                if flood.tasks.setdefault(name, task["id"]) != task["id"]:
                    flood.faults.append(f"{name} became two tasks")
            flood.contexts[name] = context_id
        connection.close()

    async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as group:
        for at in range(clients):
            group.create_task(client(at))
    return flood


async def flood_faults(url: str, token: str, flood: Flood) -> list[str]:
    """Wait until everything has ended, then compare what is listed with what was accepted.

    A last message in every context is waited for: all earlier ones have ended by then, or the order is broken.
    """
    faults = list(flood.faults)
    accepted = Counter(flood.tasks.values())
    faults += [f"{task} came of several messages" for task, count in accepted.items() if count > 1]
    for context_id in sorted(set(flood.contexts.values())):
        async with asyncio.timeout(SECONDS_MAX):
            last = await asked(url, token, send("last", f"last-{context_id}", context_id=context_id))
            listed = await _listed(url, token, context_id)
        wanted = {flood.tasks[name] for name, where in flood.contexts.items() if where == context_id}
        wanted.add(last["task"]["id"])
        faults += list_faults(wanted, listed)
    return faults


def list_faults(wanted: set[str], listed: dict[str, str]) -> list[str]:
    """Return how a context's list differs from what the clients saw: missing, extra or unfinished tasks."""
    lost = [f"{task} is lost" for task in sorted(wanted - set(listed))]
    strange = [f"{task} has no sender" for task in sorted(set(listed) - wanted)]
    return [*lost, *strange, *(f"{task} ended {state}" for task, state in listed.items() if state != _DONE)]


async def _listed(url: str, token: str, context_id: str) -> dict[str, str]:
    """Return the states of all tasks of a context."""
    found: dict[str, str] = {}
    page_token = ""
    while True:
        page = await asked(
            url, token, call("ListTasks", contextId=context_id, pageSize=PAGE, pageToken=page_token, historyLength=0)
        )
        found |= {task["id"]: task["status"]["state"] for task in page["tasks"]}
        page_token = page["nextPageToken"]
        if not page_token:
            return found


async def order_faults(folder: Path) -> list[str]:
    """Return overlaps and breaks of order in a store that no server has open."""
    db = open_database(f"sqlite:///{folder / 'carrel.db'}")
    try:
        events = await db.read(
            lambda tx: tx.all("SELECT key, name, run_id FROM events WHERE name LIKE 'run.%' ORDER BY seq")
        )
        order = await db.read(lambda tx: tx.all("SELECT id, seq FROM runs"))
    finally:
        await db.close()
    return faults_in(events, {row[0]: row[1] for row in order})
