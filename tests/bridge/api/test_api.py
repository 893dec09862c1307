"""Both clients against a server in this process: what one does by blocking, the other does by being awaited."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from carrel.bridge import (
    AsyncClient,
    Client,
    Event,
    EventsMissed,
    Fault,
    NotReachable,
    Piece,
    Refused,
    Run,
    TimedOut,
)
from tests.harness.server import HttpServer, open_http_server

SECONDS_MAX = 20.0


class Asker:
    """One of the two clients: `ask` awaits what a call gives, in a thread where the call blocks."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self.client = client

    async def __call__(self, act: Callable[[Any], Any]) -> Any:
        async with asyncio.timeout(SECONDS_MAX):
            if isinstance(self.client, Client):
                return await asyncio.to_thread(act, self.client)
            return await act(self.client)

    async def events(self, count: int, **wanted: Any) -> list[Event]:
        """Return the first events of the feed."""
        if isinstance(self.client, AsyncClient):
            async with asyncio.timeout(SECONDS_MAX):
                feed = self.client.events(**wanted)
                return [await anext(feed) for _ in range(count)]
        client = self.client
        return list(await self(lambda _: list(itertools.islice(client.events(**wanted), count))))

    async def streamed(self, target: str | None, text: str) -> tuple[list[Piece], Run]:
        """Send a message and return the pieces of its reply and its run."""
        if isinstance(self.client, AsyncClient):
            async with asyncio.timeout(SECONDS_MAX), self.client.listen(target) as listening:
                sent = await self.client.send(target, text)
                return [piece async for piece in listening.pieces(sent.run_id)], await sent.wait()

        def stream(client: Client) -> tuple[list[Piece], Run]:
            with client.listen(target) as live:
                sent = client.send(target, text)
                return list(live.pieces(sent.run_id)), sent.wait()

        pieces, run = await self(stream)
        return pieces, run

    async def close(self) -> None:
        if isinstance(self.client, Client):
            self.client.close()
        else:
            await self.client.close()


@pytest.fixture
async def listening(sqlite_url: str) -> AsyncIterator[HttpServer]:
    async with open_http_server(sqlite_url) as opened:
        yield opened


@pytest.fixture(params=[Client, AsyncClient])
async def ask(request: pytest.FixtureRequest, listening: HttpServer) -> AsyncIterator[Asker]:
    """The owner with each of the clients."""
    asker = Asker(request.param(listening.url, listening.owner))
    yield asker
    await asker.close()


async def reply_to(ask: Asker, text: str, target: str = "main") -> Run:
    sent = await ask(lambda client: client.send(target, text))
    run: Run = await ask(lambda _: sent.wait(SECONDS_MAX))
    return run


async def test_a_message_is_sent_and_its_reply_awaited(ask: Asker) -> None:
    sent = await ask(lambda client: client.send("main", "hello"))
    run = await ask(lambda _: sent.wait())
    assert (run.id, run.session_key, run.state, run.reply) == (
        sent.run_id, sent.session_key, "completed", "echo: hello",
    )  # fmt: skip
    assert (run.message.text, run.attempt, run.usage.total_tokens) == ("hello", 1, 5)
    assert run.ended_at >= run.created_at
    assert run.raw["deliverySessionKey"] == "agent:main:main:v1"
    assert (await reply_to(ask, "there", "agent:main:cli:another-lane")).session_key == "agent:main:cli:another-lane"


async def test_the_same_idempotency_key_sends_a_message_once(ask: Asker) -> None:
    first, second = [await ask(lambda client: client.send("main", "once", idempotency_key="k")) for _ in range(2)]
    assert first.run_id == second.run_id
    with pytest.raises(Refused) as refused:
        await ask(lambda client: client.send("main", "other words", idempotency_key="k"))
    assert refused.value.code == "idempotency_mismatch"


async def test_a_run_that_asks_is_answered_and_goes_on(ask: Asker) -> None:
    asking = await reply_to(ask, "ask which door?")
    assert (asking.state, asking.waiting_for, asking.question, asking.ended) == (
        "waiting",
        "input",
        "which door?",
        False,
    )
    assert [run.id for run in await ask(lambda client: client.runs.list(waiting_for="person"))] == [asking.id]
    await ask(lambda client: client.runs.answer(asking.id, "the front door"))
    run = await ask(lambda client: client.runs.wait(asking.id))
    assert (run.state, run.reply, run.question) == ("completed", "echo: the front door", None)


async def test_a_tool_call_is_approved_or_denied(ask: Asker) -> None:
    await ask(lambda client: client.patch("/api/agents/main", {"tools": {"ask": ["artifact_add"]}}))
    words = "do " + json.dumps([["artifact_add", {"text": "a poem"}]])
    for verb, kept in (("deny", []), ("approve", ["a poem"])):
        asking = await reply_to(ask, words)
        assert asking.waiting_for == "approval"
        await ask(lambda client, verb=verb, run=asking: getattr(client.runs, verb)(run.id))  # type: ignore[misc]
        run = await ask(lambda client, run=asking: client.runs.wait(run.id))  # type: ignore[misc]
        assert run.state == "completed"
        assert [one.text for one in await ask(lambda client, run=run: client.artifacts.list(run.id))] == kept  # type: ignore[misc]


async def test_a_failed_run_says_why_and_is_retried(ask: Asker) -> None:
    run = await reply_to(ask, "fail")
    assert run.error is not None
    assert (run.state, run.reply, run.error.code, run.error.message) == ("failed", None, "scripted", "Told to fail.")
    assert not (await ask(lambda client: client.runs.why(run.id))).moving
    again = await ask(lambda client: client.runs.retry(run.id))
    assert (again.message.text, again.session_key, again.id != run.id) == ("fail", run.session_key, True)


async def test_failed_attempts_are_told_while_a_run_is_awaited(ask: Asker) -> None:
    told: list[Fault] = []
    failed, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(fault: Fault) -> None:
        told.append(fault)
        loop.call_soon_threadsafe(failed.set)

    sent = await ask(lambda client: client.send("main", "flaky"))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(ask(lambda _: sent.wait(SECONDS_MAX, on_fault=tell)))
        async with asyncio.timeout(SECONDS_MAX):
            await failed.wait()
        # By a client of its own: one of the two is used from one thread at a time.
        await asyncio.to_thread(Client(ask.client.url, ask.client.token).runs.cancel, sent.run_id)
    assert waiting.result().state == "cancelled"
    assert [(fault.attempt, fault.attempts_max, fault.message) for fault in told] == [(1, 5, "Told to flaky.")]
    assert told[0].next_attempt_at is not None


async def test_a_wait_that_takes_too_long_times_out_and_the_run_goes_on(ask: Asker, listening: HttpServer) -> None:
    sent = await ask(lambda client: client.send("main", "hold still"))
    await listening.agent.reached("still")
    with pytest.raises(TimedOut, match=f"{sent.run_id} is still running"):
        await ask(lambda _: sent.wait(0))
    listening.agent.release("still")
    assert (await ask(lambda _: sent.wait())).reply == "echo: hold still"


async def test_a_receipt_has_exactly_what_was_sent(ask: Asker) -> None:
    run = await reply_to(ask, "hello")
    receipt = await ask(lambda client: client.runs.receipt(run.id, body=True))
    (step,) = receipt.steps
    assert (receipt.run_id, step.n, step.attempt) == (run.id, 1, 1)
    assert json.loads(step.body)["input"] == step.input
    assert "artifact_add" in step.tools


async def test_artifacts_are_listed_and_downloaded(ask: Asker) -> None:
    run = await reply_to(ask, "do " + json.dumps([["artifact_add", {"name": "poem", "text": "Roses are réd."}]]))
    (poem,) = await ask(lambda client: client.artifacts.list(run.id))
    assert (poem.run_id, poem.name, poem.kind, poem.text) == (run.id, "poem", "text", "Roses are réd.")
    assert await ask(lambda client: client.artifacts.content(poem.id)) == "Roses are réd.".encode()


async def test_sessions_are_listed_read_reset_archived_and_deleted(ask: Asker) -> None:
    key = (await reply_to(ask, "hello")).session_key
    await reply_to(ask, "there", "agent:main:cli:another-lane")
    listed = await ask(lambda client: client.sessions.list(limit=1))
    rest = await ask(lambda client: client.sessions.list(cursor=listed.next_cursor))
    assert [row.session_key for row in (*listed, *rest)] == ["agent:main:cli:another-lane", key]
    history = await ask(lambda client: client.sessions.history(key))
    assert [(message.role, message.text) for message in history.messages] == [
        ("user", "hello"), ("assistant", "echo: hello"),
    ]  # fmt: skip
    assert (await ask(lambda client: client.sessions.reset(key))).next_generation == 2
    assert (await ask(lambda client: client.sessions.archive(key))).archived_at is not None
    session = await ask(lambda client: client.sessions.unarchive(key))
    assert (session.archived_at, session.generation, session.updated_at is not None) == (None, 1, True)
    # It had been reset before it was archived.
    assert session.reopened is False
    other = "agent:main:cli:another-lane"
    await ask(lambda client: client.sessions.archive(other))
    assert (await ask(lambda client: client.sessions.unarchive(other))).reopened is True
    await ask(lambda client: client.sessions.delete(key))
    with pytest.raises(Refused) as refused:
        await ask(lambda client: client.sessions.get(key))
    assert (refused.value.status, refused.value.code) == (404, "not_found")


async def test_tasks_are_created_and_worked_on(ask: Asker) -> None:
    task = await ask(lambda client: client.tasks.create("Write the report", priority="high", tags=["weekly"]))
    assert (task.title, task.status, task.priority, task.tags) == ("Write the report", "inbox", 2, ("weekly",))
    assert await ask(lambda client: client.tasks.get(task.id)) == task
    assert [row.id for row in await ask(lambda client: client.tasks.list())] == [task.id]
    sent = await ask(lambda client: client.send("main", "status", task_id=task.id))
    assert sent.session_key == f"agent:main:task:{task.id}"


async def test_a_wrong_token_is_refused_with_the_servers_words(ask: Asker, listening: HttpServer) -> None:
    other = Asker(type(ask.client)(listening.url, "crl_owner_wrong_wrong"))
    with pytest.raises(Refused) as refused:
        await other(lambda client: client.send("main", "hello"))
    assert (refused.value.code, refused.value.not_allowed) == ("unauthenticated", True)
    await other.close()


async def test_events_are_read_from_a_number_and_followed(ask: Asker) -> None:
    run = await reply_to(ask, "hello")
    stored = await ask.events(3, after=0, names=["run."])
    assert [event.name for event in stored] == ["run.queued", "run.started", "run.completed"]
    assert {event.run_id for event in stored} == {run.id}
    last = stored[-1]
    async with asyncio.TaskGroup() as group:
        following = group.create_task(ask.events(1, after=last.seq, names=["run.completed"], session_key="main"))
        await asyncio.to_thread(Client(ask.client.url, ask.client.token).send, "main", "again")
    (event,) = following.result()
    assert (event.name, event.data["reply"], event.seq > last.seq) == ("run.completed", "echo: again", True)


async def test_events_that_cannot_be_replayed_are_reported(ask: Asker) -> None:
    with pytest.raises(EventsMissed) as missed:
        await ask.events(1, after=1_000_000)
    assert missed.value.reason == "ahead"
    assert missed.value.seq < 1_000_000


@pytest.mark.parametrize("target", [None, "main", "agent:main:task:report-7"])
async def test_what_is_streamed_is_the_reply(ask: Asker, listening: HttpServer, target: str | None) -> None:
    await listening.make_task("report-7", await listening.access_of())
    async with asyncio.TaskGroup() as group:
        streaming = group.create_task(ask.streamed(target, "hold on"))
        await listening.agent.reached("on")
        listening.agent.release("on")
    pieces, run = streaming.result()
    assert "".join(piece.text for piece in pieces) == run.reply == "echo: hold on"
    assert [piece.text for piece in pieces] == ["echo: ", "hold on"]
    assert not any(piece.starts_over for piece in pieces)


async def test_fifty_messages_are_sent_at_once(listening: HttpServer) -> None:
    async with AsyncClient(listening.url, listening.owner) as client, asyncio.timeout(60):

        async def reply(number: int) -> str | None:
            sent = await client.send(f"agent:main:cli:lane-{number:04}", f"say {number}")
            return (await sent.wait()).reply

        replies = await asyncio.gather(*(reply(number) for number in range(50)))
    assert replies == [str(number) for number in range(50)]


async def test_a_cancelled_request_leaves_a_client_that_works(listening: HttpServer) -> None:
    async with AsyncClient(listening.url, listening.owner) as client:
        sent = await client.send("main", "hold here")
        await listening.agent.reached("here")
        for _ in range(3):
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(sent.wait())
                # By then the other request is under way as well.
                await client.get("/healthz")
                waiting.cancel()
            assert waiting.cancelled()
        listening.agent.release("here")
        runs = await asyncio.gather(*(client.runs.wait(sent.run_id) for _ in range(3)))
        assert {run.reply for run in runs} == {"echo: hold here"}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
async def test_the_local_server_is_found_as_the_command_line_finds_it(
    kind: type[Client] | type[AsyncClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CARREL_URL", "CARREL_TOKEN", "CARREL_STORAGE__DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    alone = kind.local()
    assert (alone.url, alone.token) == ("http://127.0.0.1:8787", "")
    folder = tmp_path / ".carrel"
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": 1}))
    (folder / "owner_token").write_text("crl_owner_1_x\n")
    for found in (kind.local(), kind.local(folder)):
        assert (found.url, found.token) == ("http://127.0.0.1:9", "crl_owner_1_x")
    with pytest.raises(NotReachable, match=r"No Carrel server answers at http://127\.0\.0\.1:9"):
        await Asker(found)(lambda client: client.runs.list())
    monkeypatch.setenv("CARREL_URL", "https://elsewhere.example")
    elsewhere = kind.local()
    assert (elsewhere.url, elsewhere.token) == ("https://elsewhere.example", "")
