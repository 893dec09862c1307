"""Tools called with a run's token: until its turn ends, and each call once."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
import pytest

from carrel.journal import Entry, entries_of_run
from carrel.kernel import Access
from carrel.kernel.limits import ARTIFACT_BYTES_MAX
from carrel.kernel.settings import RunsSettings, Settings, ToolsSessionsSettings, ToolsSettings
from carrel.runs.leases import rescue_lost
from carrel.storage import Tx
from tests.harness.engine import events_of_run
from tests.harness.server import HttpServer, open_http_server
from tests.memory.places import counted
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import INPUT_REQUIRED, REJECTED, get, send, state, text_of
from tests.surfaces.api_calls import Json, refused, run_of, send_and_wait, settled, start

TASK = "agent:main:task:task_1"
QUESTION: Json = {"question": "Which one?"}


class Held(NamedTuple):
    """A run whose agent is at work, and a client with the token that the agent was handed."""

    server: HttpServer
    owner: httpx.AsyncClient
    run_id: str
    tools: httpx.AsyncClient

    async def call(self, tool: str, arguments: Json, **headers: str) -> httpx.Response:
        return await self.tools.post(f"/agent/{tool}", json=arguments, headers=headers)

    async def return_step(self) -> Json:
        """Let the agent's step return; the run once it rests."""
        self.server.agent.release("here")
        return await settled(self.owner, self.run_id)

    async def answer(self, words: str) -> Json:
        """Answer the run's question; the run once it rests again."""
        (await self.owner.post(f"/api/runs/{self.run_id}/answer", json={"text": words})).raise_for_status()
        return await settled(self.owner, self.run_id)


@asynccontextmanager
async def held_run(url: str, message: str = "hold here", *, settings: Settings | None = None) -> AsyncIterator[Held]:
    """A run that is held in its first step."""
    async with open_http_server(url, run_tokens=True, settings=settings) as server, server.client() as owner:
        run_id = (await start(owner, message, sessionKey=TASK))["runId"]
        await server.agent.reached("here")
        async with server.client(server.agent.tokens[run_id]) as tools:
            yield Held(server, owner, run_id, tools)


@pytest.fixture
async def held(store_url: str) -> AsyncIterator[Held]:
    async with held_run(store_url) as running:
        yield running


@requirement("S0.x.parity", "P.tool.once")
async def test_a_question_from_outside_is_asked_when_the_step_returns_and_only_once(held: Held) -> None:
    asked = await held.call("request-input", {**QUESTION, "kind": "auth"})
    assert (asked.status_code, asked.json()) == (200, {"ok": True, "waitingFor": "auth"})
    assert (await run_of(held.owner, held.run_id))["state"] == "running", "its step is still under way"
    waiting = await held.return_step()
    assert (waiting["state"], waiting["waitingFor"], waiting["note"]) == ("waiting", "auth", "Which one?")
    assert waiting["reply"] is None, "what the step said beside the call is no reply"
    assert waiting["toolsCalled"] == ["request_input"]
    assert refused(await held.call("request_input", QUESTION))[:2] == (409, "conflict"), "no turn is there to end"
    done = await held.answer("the blue one")
    assert (done["state"], done["reply"]) == ("completed", "echo: the blue one")


@requirement("S1.decline")
async def test_a_refusal_from_outside_ends_the_run_as_declined(store_url: str) -> None:
    async with held_run(store_url) as held:
        declined = await held.call("decline", {"reason": "Not for me."})
        assert (declined.status_code, declined.json()) == (200, {"ok": True, "declined": True})
        ended = await held.return_step()
    assert (ended["state"], ended["reason"], ended["error"]["message"]) == ("failed", "rejected", "Not for me.")


@requirement("S0.x.parity")
@pytest.mark.parametrize(("tool", "arguments"), [("request_input", QUESTION), ("decline", {"reason": "No."})])
async def test_the_journal_and_the_feed_tell_of_it_as_of_a_models_own_call(
    store_url: str, tool: str, arguments: Json
) -> None:
    async with held_run(store_url) as held:
        await held.call(tool, arguments)
        outside = await held.return_step()
        inside = await send_and_wait(held.owner, f"do {json.dumps([[tool, arguments]])}", sessionKey=TASK)
        access = await held.server.access_of()
        told = [await held.server.db.read(telling(access, run["id"])) for run in (outside, inside)]
    assert told[0] == told[1]
    assert len(told[0][0]) == (4 if tool == "request_input" else 3)


def telling(access: Access, run_id: str) -> Any:
    """What journal and feed hold of a run, without what names this very run or this very call."""

    def read(tx: Tx) -> tuple[list[Any], list[Any]]:
        entries = entries_of_run(tx, access, run_id)
        events = [json.loads(event.wire()) for event in events_of_run(tx, access, run_id)]
        states = [(event["name"], event["data"].get("state"), event["data"].get("question")) for event in events]
        return [shown(entry) for entry in entries], states

    return read


def shown(entry: Entry) -> tuple[Any, ...]:
    own = ("callId", "step", "said", "heading")
    details = {name: value for name, value in (entry.details or {}).items() if name not in own}
    if "arguments" in details:
        details["arguments"] = json.loads(details["arguments"])
    content = "" if entry.role == "user" else entry.content
    return entry.type, entry.role, content, details, entry.author, entry.session_id, entry.channel


async def test_what_the_model_said_beside_it_is_kept_with_the_call_and_shown_to_it_again(surface_url: str) -> None:
    async with held_run(surface_url) as held:
        await held.call("request_input", QUESTION)
        await held.return_step()
        await held.answer("the blue one")
        access = await held.server.access_of()
        entries = await held.server.db.read(lambda tx: entries_of_run(tx, access, held.run_id))
        sent = held.server.agent.talk()
    call = next(entry for entry in entries if entry.role == "toolCall")
    assert (call.details or {})["said"] == "echo: hold here"
    assert [item.get("role", item["type"]) for item in sent] == [
        "user", "function_call", "function_call_output", "assistant", "user",
    ]  # fmt: skip
    assert sent[1]["call_id"] == sent[2]["call_id"]


async def test_calls_that_come_with_the_step_are_not_made_any_more(surface_url: str) -> None:
    steps = json.dumps([["hold", "here"], ["artifact_add", {"text": "too late"}]])
    async with held_run(surface_url, f"do {steps}") as held:
        await held.call("request_input", QUESTION)
        assert (await held.return_step())["state"] == "waiting"
        assert (await held.answer("thanks"))["state"] == "completed"
        assert (await run_of(held.owner, held.run_id))["toolsCalled"] == ["request_input"]


@requirement("S0.x.parity")
async def test_a_second_end_is_refused_and_a_repeated_one_is_answered_as_before(store_url: str) -> None:
    async with held_run(store_url) as held:
        key = {"X-Idempotency-Key": "end-1"}
        first = await held.call("request_input", QUESTION, **key)
        again = await held.call("request_input", QUESTION, **key)
        assert (again.status_code, again.json()) == (200, first.json())
        for tool, arguments in (("decline", {"reason": "No."}), ("request_input", QUESTION)):
            second = await held.call(tool, arguments)
            assert refused(second)[:2] == (409, "conflict")
            assert "already ending" in second.json()["error"]["message"]
        added = await held.call("artifact_add", {"text": "still at work"})
        assert added.status_code == 200
        waiting = await held.return_step()
    assert (waiting["state"], waiting["note"]) == ("waiting", "Which one?")
    assert sorted(waiting["toolsCalled"]) == ["artifact_add", "request_input"]


@pytest.mark.parametrize("lane", [TASK, "agent:main:task:task_2"])
async def test_a_run_is_never_given_the_answer_to_another_run(held: Held, lane: str) -> None:
    key, text = {"X-Idempotency-Key": "the same"}, {"text": "a result"}
    first = await held.call("artifact_add", text, **key)
    await held.return_step()
    other = (await start(held.owner, "hold there", sessionKey=lane))["runId"]
    await held.server.agent.reached("there")
    async with held.server.client(held.server.agent.tokens[other]) as tools:
        second = await tools.post("/agent/artifact_add", json=text, headers=key)
    assert (first.status_code, second.status_code) == (200, 200)
    assert "idempotent-replay" not in second.headers
    assert second.json() != first.json()
    held.server.agent.release("there")
    assert (await settled(held.owner, other))["toolsCalled"] == ["artifact_add"]


async def test_of_ends_asked_for_at_once_one_is_taken(held: Held) -> None:
    answers = await asyncio.gather(*(held.call("request_input", {"question": f"{n}?"}) for n in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]
    taken = next(n for n, answer in enumerate(answers) if answer.status_code == 200)
    assert (await held.return_step())["note"] == f"{taken}?"


@pytest.mark.parametrize(
    ("tool", "arguments", "shown_as"),
    [("request_input", QUESTION, INPUT_REQUIRED), ("decline", {"reason": "Which one?"}, REJECTED)],
)
async def test_a_task_over_a2a_comes_to_the_same_states(
    surface_url: str, tool: str, arguments: Json, shown_as: str
) -> None:
    async with open_http_server(surface_url, run_tokens=True) as server, server.client() as owner:
        task = await send(owner, "hold here", at_once=True)
        await server.agent.reached("here")
        async with server.client(server.agent.tokens[task["id"]]) as tools:
            assert (await tools.post(f"/agent/{tool}", json=arguments)).status_code == 200
        server.agent.release("here")
        await settled(owner, task["id"])
        seen = await get(owner, task)
    assert (state(seen), text_of(seen)) == (shown_as, "Which one?")


async def test_on_a_server_that_is_stopping_a_turn_is_still_brought_to_its_end(surface_url: str) -> None:
    async with held_run(surface_url) as held:
        held.server.drain.set()
        assert (await held.call("session_status", {})).status_code == 200
        assert (await held.call("request_input", QUESTION)).status_code == 200
        held.server.agent.release("here")
        assert (await settled(held.owner, held.run_id))["state"] == "waiting"


async def test_a_run_that_is_cancelled_asks_nothing(held: Held) -> None:
    await held.call("request_input", QUESTION)
    await held.owner.post(f"/api/runs/{held.run_id}/cancel")
    ended = await settled(held.owner, held.run_id)
    assert (ended["state"], ended["note"]) == ("cancelled", None)
    access = await held.server.access_of()
    entries = await held.server.db.read(lambda tx: entries_of_run(tx, access, held.run_id))
    assert [entry.role for entry in entries] == ["user"]


async def test_a_token_is_handed_out_where_the_gateway_is_set_so_and_ends_with_its_run(store_url: str) -> None:
    async with held_run(store_url) as held:
        token = held.server.agent.tokens[held.run_id]
        assert token.startswith("crl_run_")
        assert (await held.call("session_status", {})).json()["sessionKey"] == TASK
        assert token not in (await held.owner.get("/api/tokens")).text
        assert [one["kind"] for one in (await held.owner.get("/api/tokens")).json()["tokens"]] == ["owner"]
        await held.return_step()
        assert refused(await held.call("session_status", {}))[:2] == (401, "unauthenticated")
    async with open_http_server(store_url) as plain, plain.client(held.server.owner) as owner:
        run = await send_and_wait(owner, "hello")
        assert plain.agent.tokens[run["id"]] == ""


@pytest.mark.parametrize("name", ["text", "dataBase64"])
async def test_a_part_of_an_artifact_has_as_many_bytes_as_is_said_whether_it_is_a_text_or_a_file(
    surface_url: str, name: str
) -> None:
    async with held_run(surface_url) as held:
        whole, more = (b"x" * size for size in (ARTIFACT_BYTES_MAX, ARTIFACT_BYTES_MAX + 1))
        if name == "dataBase64":
            whole, more = b64encode(whole), b64encode(more)
        assert (await held.call("artifact_add", {name: whole.decode()})).status_code == 200
        answer = await held.call("artifact_add", {name: more.decode()})
    assert (answer.status_code, answer.json()["error"]["field"]) == (413, name)


@requirement("S0.x.tools.once")
@pytest.mark.parametrize("dies", ["while the call waits", "after it"])
async def test_a_server_that_dies_does_not_repeat_a_step_in_which_its_agent_has_sent_something(
    store_url: str, dies: str
) -> None:
    waits = dies == "while the call waits"
    message: Json = {"sessionKey": "main", "message": "hold there", "timeoutSeconds": 20 if waits else 1}
    settings = Settings(tools=ToolsSettings(sessions=ToolsSessionsSettings(visibility="agent")))
    async with held_run(store_url, settings=settings) as held, asyncio.TaskGroup() as group:
        call = group.create_task(held.call("sessions_send", message))
        await held.server.agent.reached("there")
        if not waits:
            assert (await call).json()["status"] == "timeout"
        await held.server.db.write(lambda tx: expire_lease(tx, held.run_id))
        await held.server.db.write(rescue_lost)
        run = await settled(held.owner, held.run_id)
        held.server.agent.release("there")
    assert (run["state"], run["reason"]) == ("failed", "interrupted")


@requirement("S0.x.tools.once")
@pytest.mark.parametrize(("tool", "reason"), [("artifact_add", "interrupted"), ("session_status", "dead_letter")])
async def test_a_step_that_fails_for_now_is_not_put_to_an_agent_again_that_has_changed_something_in_it(
    store_url: str, tool: str, reason: str
) -> None:
    # A fault that would be tried again makes a dead letter of the only attempt there is.
    once = Settings(runs=RunsSettings(attempts_max=1))
    async with held_run(store_url, "trip here", settings=once) as held:
        answer = await held.call(tool, {"text": "half of it"} if tool == "artifact_add" else {})
        answer.raise_for_status()
        run = await held.return_step()
    assert (run["state"], run["reason"]) == ("failed", reason)


def expire_lease(tx: Tx, run_id: str) -> None:
    tx.run("UPDATE runs SET lease_until = 0 WHERE id = :id", id=run_id)


@requirement("S3.metric.mismatch")
async def test_a_run_that_names_another_session_is_refused_and_counted(held: Held) -> None:
    before = counted("routing.session_mismatch.blocked.count")
    answer = await held.call("session_status", {}, **{"x-openclaw-session-key": "agent:main:main"})
    assert refused(answer)[0] in (401, 403, 404)
    assert counted("routing.session_mismatch.blocked.count") == before + 1
    own = await held.call("session_status", {}, **{"x-openclaw-session-key": TASK})
    assert own.status_code == 200
    assert counted("routing.session_mismatch.blocked.count") == before + 1
