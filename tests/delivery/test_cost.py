"""What a turn costs: how many statements and commits five walks through the server make of the store.

Everything counts that a walk causes until the server is at rest: the request, the turn, the answer, the wait for it,
observers, the index. A walk is made once before it is counted, so that lanes and sessions exist. On a busy machine the
index follows in several pages what it otherwise follows in one; the page counts once.
"""

import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from types import FrameType

import httpx
import pytest

from carrel.kernel import SessionKey
from carrel.kernel.settings import ContextSettings, Settings
from carrel.storage.statements import Statements
from tests.harness.server import HttpServer, open_http_server
from tests.harness.watched_database import Cost, WatchedDatabase

CALLING = "do " + json.dumps([["agents_list", {}]])
MESSAGE_IDS = map(str, count(1))
Walk = Callable[[HttpServer, httpx.AsyncClient], Awaitable[None]]


@pytest.fixture
async def listening(store_url: str) -> AsyncIterator[HttpServer]:
    """A server that listens, on SQLite and on PostgreSQL."""
    async with open_http_server(store_url) as opened:
        yield opened


async def say(client: httpx.AsyncClient, key: str, words: str) -> None:
    """Say something in a session and wait for the answer."""
    sent = await client.post("/api/runs", json={"sessionKey": key, "message": words})
    ended = await client.get(f"/api/runs/{sent.json()['runId']}/wait?timeoutSeconds=20")
    assert ended.json()["status"] == "ok", ended.text


async def chat(_server: HttpServer, client: httpx.AsyncClient) -> None:
    """A chat line that is answered after one tool call."""
    await say(client, "agent:main:web:cost-0001", f"Who else is there to help me with this?\n{CALLING}")


async def task_message(listening: HttpServer, client: httpx.AsyncClient) -> None:
    """A message about a task, in the task's own session."""
    await listening.make_task("report")
    await say(client, "agent:main:task:report", "How far is the report for the museum?")


async def tool_call(_server: HttpServer, client: httpx.AsyncClient) -> None:
    """A tool that a program calls for an agent."""
    made = await client.post("/agent/agents_list", json={}, headers={"X-Carrel-Session": "agent:main:main"})
    assert made.status_code == 200, made.text


async def a2a(_server: HttpServer, client: httpx.AsyncClient) -> None:
    """A message of an A2A agent, which waits for the answer."""
    message = {"messageId": next(MESSAGE_IDS), "role": "ROLE_USER", "parts": [{"text": "What is left to do?"}]}
    body = {"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {"message": message}}
    answer = await client.post("/a2a/main", json=body, headers={"A2A-Version": "1.0"})
    assert "result" in answer.json(), answer.text


async def heartbeat(listening: HttpServer, _client: httpx.AsyncClient) -> None:
    """An agent that is woken."""
    key = SessionKey.of("main", "main")
    await listening.settled(await listening.say(key, "Is there anything to do?", kind="heartbeat"))


# Where the index follows the feed, and which statement begins a page.
INDEX = ("carrel.journal.followers", "carrel.search.indexing", "carrel.storage.duties")
WALKS = 3
PAGE = "journal.store.events_after"
LOST_RUNS = "runs.queue_store.lost_runs"
BEHIND = (
    "SELECT 1 FROM followers WHERE account_id = :account "
    "AND cursor < (SELECT max(seq) FROM events WHERE account_id = :account) LIMIT 1"
)


async def cost_of(walk: Walk, listening: HttpServer) -> Cost:
    """Return what a walk costs, until the server is at rest, when an equal one was made before.

    It is the cheapest of some: on a busy machine a follower looks late, for what the walk before has left.
    """
    assert isinstance(listening.db, WatchedDatabase)
    costs: list[Cost] = []
    async with listening.client() as client:
        await walk(listening, client)
        for _ in range(WALKS):
            await rest(listening)
            costs.append(listening.db.count_anew())
            await walk(listening, client)
        await rest(listening)
        listening.db.count_anew()
    return min(costs, key=counted)


async def rest(listening: HttpServer) -> None:
    """Wait until every follower has handled every event: what the first walk left to do is not of the second."""
    await listening.until(lambda tx: tx.one(BEHIND, listening.access) is None)


def counted(cost: Cost) -> tuple[int, int]:
    """Return how many statements and commits there were, with one page of the index, without looks for lost runs."""
    pages = sum(one.site.startswith(PAGE) and one.work in INDEX for one in cost.statements) or 1
    # Lost runs are looked for every few seconds, whatever is done meanwhile.
    works = [one.work for one in cost.statements if not one.site.startswith(LOST_RUNS)], cost.commits
    statements, commits = (
        len(each) - (of_index := sum(work in INDEX for work in each)) + of_index // pages for each in works
    )
    return statements, commits


@pytest.mark.parametrize(
    ("walk", "statements_max", "commits_max"),
    [(chat, 90, 8), (task_message, 124, 6), (tool_call, 8, 1), (a2a, 86, 5), (heartbeat, 50, 4)],
)
async def test_a_walk_makes_no_more_statements_and_commits_than_this(
    listening: HttpServer, walk: Walk, statements_max: int, commits_max: int
) -> None:
    cost = await cost_of(walk, listening)
    statements, commits = counted(cost)
    assert statements <= statements_max, str(cost)
    assert commits <= commits_max, str(cost)


# What follows the feed looks whenever something was written, for many walks at once.
FOLLOWING = ("carrel.journal", "carrel.search", "carrel.storage", "carrel.runs.watch")


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The module of the unit of work behind every round trip to PostgreSQL."""
    made: list[str] = []

    def noted(send: Callable[..., object]) -> Callable[..., object]:
        def sent(statements: Statements, *arguments: object) -> object:
            # What is queued is counted with the function that sends all of it.
            if bool(statements._waiting) == (send.__name__ == "execute_added"):
                made.append(unit_of_work())
            return send(statements, *arguments)

        return sent

    monkeypatch.setattr(Statements, "execute", noted(Statements.execute))
    monkeypatch.setattr(Statements, "execute_added", noted(Statements.execute_added))
    return made


def unit_of_work() -> str:
    """Return the outermost module of the product in whose work this is called; none for the store's own commits."""
    frame: FrameType | None = sys._getframe(1)
    module = ""
    while frame is not None:
        named = frame.f_globals["__name__"]
        if named.startswith("carrel.") and not named.startswith(("carrel.storage.", "carrel.main.")):
            module = named
        frame = frame.f_back
    return module


async def test_a_chat_line_takes_no_more_round_trips_to_postgresql_than_this(
    postgres_url: str, round_trips: list[str]
) -> None:
    settings = Settings(context=ContextSettings(augment=False))
    async with open_http_server(postgres_url, settings=settings) as server, server.client() as client:
        counts = []
        for _ in range(WALKS + 1):
            await rest(server)
            round_trips.clear()
            await say(client, "agent:main:web:cost-0002", "What is the time of the meeting?")
            counts.append(Counter(work for work in round_trips if work and not work.startswith(FOLLOWING)))
    least = min(counts, key=Counter.total)
    assert least.total() <= 8, least
