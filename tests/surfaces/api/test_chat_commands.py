"""The commands /memory and /receipt: what a session keeps, and what its agent was shown."""

import logging

import httpx
import pytest

from carrel.kernel.ids import caller_hash
from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, settled

TAB, OTHER = "tab-1", "tab-2"


async def chat(client: httpx.AsyncClient, text: str, tab: str = TAB) -> Json:
    """Type into the chat in front of a browser."""
    answer = await client.post("/api/chat", json={"text": text, "clientInstanceId": tab})
    answer.raise_for_status()
    heard: Json = answer.json()
    if "runId" in heard:
        await settled(client, heard["runId"])
    return heard


async def test_a_session_lists_promotes_and_forgets_what_it_keeps(client: httpx.AsyncClient) -> None:
    assert "keeps nothing yet" in (await chat(client, "/memory"))["reply"]
    session = (await chat(client, "Remember that the safe opens with 4711."))["sessionId"]
    listed = (await chat(client, "/memory list"))["reply"]
    memory_id = listed.split()[0]
    assert listed == f"{memory_id}  [session:web:{session}] fact: the safe opens with 4711."
    promoted = (await chat(client, f"/memory promote {memory_id} everybody needs it"))["reply"]
    assert "[global] fact: the safe opens with 4711." in promoted
    assert "[global]" in (await chat(client, "/memory", OTHER))["reply"]
    assert (await chat(client, f"/memory forget {memory_id}"))["reply"].startswith("Forgotten: ")
    assert memory_id not in (await chat(client, "/memory"))["reply"]
    assert "/memory promote <id> <reason>" in (await chat(client, "/memory what"))["reply"]


@requirement("S3.scope.bound")
async def test_a_memory_of_another_session_is_not_found(client: httpx.AsyncClient) -> None:
    await chat(client, "Remember that the safe opens with 4711.")
    memory_id = (await chat(client, "/memory"))["reply"].split()[0]
    for change in (f"/memory forget {memory_id}", f"/memory promote {memory_id} because"):
        assert "memory" in (await chat(client, change, OTHER))["reply"]
    assert memory_id in (await chat(client, "/memory"))["reply"]
    assert "keeps nothing yet" in (await chat(client, "/memory", OTHER))["reply"]


async def test_a_receipt_says_what_the_newest_run_was_shown(client: httpx.AsyncClient) -> None:
    assert "Nothing has been said" in (await chat(client, "/receipt"))["reply"]
    first = await chat(client, "hello")
    scope, fact = f"session:web:{first['sessionId']}", "the safe opens with 4711."
    kept = await client.post("/api/memory", json={"scope": scope, "type": "fact", "content": fact})
    kept.raise_for_status()
    second = await chat(client, "how does the safe open?")
    shown = (await chat(client, "/receipt"))["reply"].splitlines()
    assert shown[0] == f"{second['runId']}, generation 1"
    assert shown[1].startswith("Step 1: ")
    line = f"- [session] {fact}  ({scope}: matches "
    assert [one for one in shown if one.startswith(line)] != []
    earlier = (await chat(client, f"/receipt {first['runId']}"))["reply"]
    assert earlier.startswith(first["runId"])
    assert "4711" not in earlier
    foreign = (await chat(client, f"/receipt {first['runId']}", OTHER))["reply"]
    assert first["runId"] not in foreign


@requirement("S3.log.fields")
async def test_the_log_line_of_a_command_names_its_session_and_hides_its_chat(
    server: HttpServer, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "carrel.commands"):
        session = (await chat(client, "/whoami", "a-browser-of-mine"))["sessionId"]
    (record,) = [one for one in caplog.records if one.name == "carrel.commands"]
    fields = vars(record)
    assert (record.getMessage(), fields["command"]) == ("command", "whoami")
    assert (fields["session_identity"], fields["goal_id"], fields["task_id"]) == (f"web:{session}", None, None)
    assert fields["transport_chat_hash"] == caller_hash("a-browser-of-mine")
    assert "a-browser-of-mine" not in str(fields)


async def test_the_list_of_commands_is_the_one_that_help_shows(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/api/commands")).json()["commands"]
    told = (await chat(client, "/help"))["reply"].splitlines()
    assert [f"{command['usage']}: {command['effect']}" for command in listed] == told
    assert {command["name"] for command in listed if command["ownerOnly"]} == {"send"}
