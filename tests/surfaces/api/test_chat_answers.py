"""Lines of a chat whose session has an open question: which of them answer it, and what happens to the others."""

import json

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api.chat_line import open_line
from tests.surfaces.api_calls import Json, refused, run_of, settled

KEY = "agent:main:web:asking-here"
OTHER = "agent:main:web:other-chat"
ADD = json.dumps([("artifact_add", {"name": "Report", "text": "hello\nyou", "append": False})])
QUESTION = """May main add a result to its run? (artifact_add)
- name: Report
- text: hello
    you
- append: no"""


async def say(client: httpx.AsyncClient, text: str, **more: object) -> httpx.Response:
    return await client.post("/api/chat", json={"text": text, "sessionKey": KEY, **more})


async def asked(client: httpx.AsyncClient, text: str) -> Json:
    """Say something that makes the agent ask; the waiting run."""
    run = await settled(client, (await say(client, text, answersRunId=None)).json()["runId"])
    assert run["state"] == "waiting"
    return run


async def asked_for_approval(client: httpx.AsyncClient) -> Json:
    (await client.patch("/api/agents/main", json={"tools": {"ask": ["artifact_*"]}})).raise_for_status()
    return await asked(client, f"do {ADD}")


async def added(client: httpx.AsyncClient, run_id: str) -> int:
    return len((await client.get(f"/api/runs/{run_id}/artifacts")).json()["artifacts"])


@requirement("P.tool.ask")
async def test_an_approval_reads_like_a_question_and_is_the_same_text_everywhere(client: httpx.AsyncClient) -> None:
    run = await asked_for_approval(client)
    assert (run["waitingFor"], run["note"]) == ("approval", QUESTION)
    why = (await client.get(f"/api/runs/{run['id']}/why")).json()["reasons"][0]
    assert (why["code"], why["text"]) == ("waiting_approval", f"This run is waiting for approval: {QUESTION}")
    assert QUESTION in (await say(client, "/status")).json()["reply"]
    waiting = (await client.get(f"/api/runs/{run['id']}/wait", params={"timeoutSeconds": 0})).json()
    assert QUESTION in waiting["error"]


@requirement("P.waiting")
async def test_a_line_answers_the_newest_run_if_that_asks_something(client: httpx.AsyncClient) -> None:
    run = await asked(client, "ask Which colour?")
    first = await say(client, "Blue.", clientMessageId="line-1")
    assert (first.status_code, first.json()["runId"]) == (202, run["id"])
    assert (await settled(client, run["id"]))["reply"] == "echo: Blue."
    again = await say(client, "Blue.", clientMessageId="line-1")
    assert again.json()["runId"] == run["id"], "a repeated answer is the same answer"
    assert (await say(client, "And now?")).json()["runId"] != run["id"]


@requirement("P.waiting")
async def test_a_line_that_says_so_is_a_message_of_its_own_and_the_question_stays_open(
    client: httpx.AsyncClient,
) -> None:
    run = await asked(client, "ask Which colour?")
    other = (await say(client, "meanwhile", answersRunId=None)).json()["runId"]
    assert (await settled(client, other))["reply"] == "echo: meanwhile"
    assert (await say(client, "more")).json()["runId"] not in (run["id"], other), "the newest run asks nothing"
    assert (await run_of(client, run["id"]))["state"] == "waiting"
    named = await say(client, "Blue.", answersRunId=run["id"])
    assert named.json()["runId"] == run["id"]


@requirement("P.tool.ask")
async def test_yes_and_no_decide_on_a_tool_call_and_other_words_do_not(client: httpx.AsyncClient) -> None:
    run = await asked_for_approval(client)
    for unclear in ("what for?", "yes, but shorter"):
        answer = await say(client, unclear, answersRunId=run["id"])
        assert refused(answer) == (400, "invalid_params", "text")
        assert "Answer yes or no" in answer.json()["error"]["message"]
    answer = await client.post(f"/api/runs/{run['id']}/answer", json={"text": "perhaps"})
    assert refused(answer) == (400, "invalid_params", "text")
    unnamed = (await say(client, "what for?")).json()["runId"]
    assert unnamed != run["id"], "a line that names no run and is no decision is a message"
    assert (await run_of(client, run["id"]))["state"] == "waiting"
    denied = await say(client, "No, not today.", answersRunId=run["id"])
    assert denied.json()["runId"] == run["id"]
    assert (await settled(client, run["id"]))["state"] == "completed"
    approved = await asked(client, f"do {ADD}")
    assert (await say(client, "Yes.")).json()["runId"] == approved["id"]
    assert (await settled(client, approved["id"]))["reply"] == "done"
    assert (await added(client, run["id"]), await added(client, approved["id"])) == (0, 1)


@requirement("P.waiting")
async def test_of_two_answers_to_one_question_the_second_is_told_so(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    run = await asked(client, "ask Which colour?")
    assert (await say(client, "Blue.", answersRunId=run["id"])).status_code == 202
    late = await say(client, "Red.", answersRunId=run["id"])
    assert refused(late)[:2] == (409, "conflict")
    assert "answered elsewhere" in late.json()["error"]["message"]
    elsewhere = {"text": "Red.", "sessionKey": OTHER, "answersRunId": run["id"]}
    assert refused(await client.post("/api/chat", json=elsewhere)) == (400, "invalid_params", "answersRunId")
    assert refused(await client.post("/api/chat", json=elsewhere | {"answersRunId": "run_none"}))[0] == 404
    again = await asked(client, "ask Which colour?")
    async with open_line(server.url, server.owner) as line:
        await line.bind(sessionId=KEY)
        await line.send("message", sessionId=KEY, text="Green.", answersRunId=again["id"])
        assert (await line.until("assistant_done"))[-1]["text"] == "echo: Green."
