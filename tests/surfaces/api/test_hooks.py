"""Hooks: what other programs hand to agents, in which lanes, and who may."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.kernel.settings import ContextSettings, HooksSettings, Settings
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, settled

pytestmark = pytest.mark.settings(hooks=HooksSettings(enabled=True))
AGENT, WAKE, CLAUDE = "/api/hooks/agent", "/api/hooks/wake", "/api/hooks/claude"
NAMING = HooksSettings(enabled=True, allow_request_session_key=True)


async def accepted(client: httpx.AsyncClient, path: str, **body: Any) -> Json:
    """Return the answer to a hook that is taken."""
    answer = await client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    taken: Json = answer.json()
    return taken


def said(prompt: str, **more: Any) -> Json:
    """Return an event of Claude Code, with fields that nobody reads."""
    event = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": "/work"}
    return event | {"permission_mode": "default", "transcript_path": "/x.jsonl"} | more


async def log_of(client: httpx.AsyncClient, **query: str) -> list[Json]:
    """Return the entries of the Claude session, oldest first."""
    answer = await client.get("/api/log", params={"sessionKey": "claude:s1"} | query)
    assert answer.status_code == 200, answer.text
    logs: list[Json] = answer.json()["logs"]
    return logs[::-1]


@pytest.fixture
async def naming(sqlite_url: str) -> AsyncIterator[tuple[HttpServer, httpx.AsyncClient]]:
    """A server whose hooks may name sessions, and its owner."""
    async with open_http_server(sqlite_url, settings=Settings(hooks=NAMING)) as server, server.client() as owner:
        yield server, owner


async def test_hooks_are_off_unless_they_are_turned_on(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as owner:
        for path, body in ((AGENT, {"message": "hi"}), (WAKE, {"text": "hi"}), (CLAUDE, said("hi"))):
            answer = await owner.post(path, json=body)
            assert refused(answer) == (403, "forbidden", None)
            assert "hooks.enabled" in answer.text


@requirement("S2.key.internal")
async def test_each_message_gets_a_lane_of_its_own_and_a_run_with_its_name(client: httpx.AsyncClient) -> None:
    one = await accepted(client, AGENT, message="build failed", name="CI")
    two = await accepted(client, AGENT, message="build failed", agentId="main")
    assert list(one) == ["runId", "sessionKey"]
    assert one["sessionKey"].startswith("agent:main:hook:")
    assert one["sessionKey"] != two["sessionKey"]
    run = await settled(client, one["runId"])
    assert (run["state"], run["provenance"]["kind"], run["label"]) == ("completed", "hook", "CI")
    assert run["message"]["text"] == "build failed"


async def test_a_wake_goes_to_the_main_lane_of_the_agent(client: httpx.AsyncClient) -> None:
    woken = await accepted(client, WAKE, text="the backup is done")
    assert woken["sessionKey"] == "agent:main:main"
    run = await settled(client, woken["runId"])
    assert (run["provenance"]["kind"], run["message"]["text"]) == ("hook", "the backup is done")


async def test_a_program_uses_hooks_for_its_own_agents_only(
    server: HttpServer, client: httpx.AsyncClient, alice: httpx.AsyncClient
) -> None:
    (await client.post("/api/agents", json={"id": "other"})).raise_for_status()
    await accepted(client, WAKE, text="made by the owner")
    assert (await accepted(alice, WAKE, text="by the program"))["sessionKey"] == "agent:main:main"
    await accepted(alice, AGENT, message="by the program")
    assert refused(await alice.post(WAKE, json={"text": "hi", "agentId": "other"}))[:2] == (404, "not_found")
    assert refused(await alice.post(AGENT, json={"message": "hi", "agentId": "other"}))[:2] == (404, "not_found")


async def test_an_agent_is_told_of_its_tool(server: HttpServer, client: httpx.AsyncClient) -> None:
    async with server.client(await server.token(client, kind="agent", agentId="main")) as agent:
        answer = await agent.post(WAKE, json={"text": "hi"})
        assert refused(answer) == (403, "forbidden", None)
        assert "sessions_send" in answer.text


@pytest.mark.parametrize("key", ["hook:ci", "agent:main:hook:ci"])
async def test_a_session_can_be_named_only_where_the_settings_allow_it(client: httpx.AsyncClient, key: str) -> None:
    answer = await client.post(AGENT, json={"message": "hi", "sessionKey": key})
    assert refused(answer) == (400, "invalid_params", "sessionKey")


@requirement("S2.key.internal")
async def test_a_named_session_is_used_if_its_prefix_is_allowed(
    naming: tuple[HttpServer, httpx.AsyncClient],
) -> None:
    _, owner = naming
    for key in ("hook:ci", "agent:main:hook:ci", "agent:main:hook:ci:v1"):
        taken = await accepted(owner, AGENT, message="hi", sessionKey=key)
        await settled(owner, taken["runId"])
        assert taken["sessionKey"] == "agent:main:hook:ci"
    for key in ("main", "agent:main:main", "cron:1", "subagent:1", "web:hook:ci"):
        answer = await owner.post(AGENT, json={"message": "hi", "sessionKey": key})
        assert refused(answer) == (400, "invalid_params", "sessionKey"), key


@requirement("S2.key.internal")
async def test_an_agent_given_with_a_session_must_be_that_sessions(
    naming: tuple[HttpServer, httpx.AsyncClient],
) -> None:
    _, owner = naming
    (await owner.post("/api/agents", json={"id": "other"})).raise_for_status()
    taken = await accepted(owner, AGENT, message="hi", sessionKey="hook:ci", agentId="other")
    assert taken["sessionKey"] == "agent:other:hook:ci"
    wrong = {"message": "hi", "sessionKey": "agent:main:hook:ci", "agentId": "other"}
    assert refused(await owner.post(AGENT, json=wrong)) == (400, "invalid_params", "agentId")


async def test_a_program_cannot_name_the_lane_of_another(naming: tuple[HttpServer, httpx.AsyncClient]) -> None:
    server, owner = naming
    await accepted(owner, AGENT, message="hi", sessionKey="hook:ci")
    token = await server.token(owner, kind="client", agentIds=["main"], name="alice")
    async with server.client(token) as alice:
        assert refused(await alice.post(AGENT, json={"message": "hi", "sessionKey": "hook:ci"}))[:2] == (
            404,
            "not_found",
        )
        await accepted(alice, AGENT, message="hi", sessionKey="hook:own")
        await accepted(alice, AGENT, message="hi", sessionKey="hook:own")


@pytest.mark.parametrize(("path", "field"), [(AGENT, "message"), (WAKE, "text")])
async def test_an_empty_or_overlong_text_is_refused_by_its_field(
    client: httpx.AsyncClient, path: str, field: str
) -> None:
    for text in ("", "  ", "x" * 2_000_001):
        answer = await client.post(path, json={field: text})
        status, _, named = refused(answer)
        assert (status in (400, 422), named) == (True, field)


async def test_a_hook_sent_twice_under_one_key_is_one_run(client: httpx.AsyncClient) -> None:
    headers = {"X-Idempotency-Key": "build-7"}
    first = await client.post(AGENT, json={"message": "hi"}, headers=headers)
    again = await client.post(AGENT, json={"message": "hi"}, headers=headers)
    assert (again.json(), again.headers["Idempotent-Replay"]) == (first.json(), "true")


async def test_events_of_claude_code_become_entries_of_its_session(client: httpx.AsyncClient) -> None:
    events = [
        said("", hook_event_name="SessionStart", source="startup", model="opus"),
        said("how many sheep?"),
        said("", hook_event_name="PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input={"password": "hush"}),
        said("", hook_event_name="PostToolUse", tool_name="Bash", tool_use_id="t1", tool_response={"out": "12"}),
        said("", hook_event_name="PostToolUseFailure", tool_name="Read", tool_use_id="t2", error="no such file"),
        said("", hook_event_name="SubagentStop", agent_type="Explore", last_assistant_message="found it"),
        said("", hook_event_name="Stop", last_assistant_message="Twelve."),
        said("", hook_event_name="Stop"),
        said("", hook_event_name="PreCompact", trigger="auto"),
    ]
    for event in events:
        answer = await client.post(CLAUDE, json=event)
        assert (answer.status_code, answer.json()) == (200, {}), answer.text
    logs = await log_of(client, includeRaw="1")
    assert [(log["type"], log["agentId"], log["content"]) for log in logs] == [
        ("system", "claude", "Session started: startup."),
        ("conversation", "user", "how many sheep?"),
        ("action", "claude", "Tool call: Bash"),
        ("action", "claude", "Tool result: Bash"),
        ("action", "claude", "Tool error: Read: no such file"),
        ("system", "claude", "Sub-agent Explore ended: found it"),
        ("conversation", "claude", "Twelve."),
    ]
    assert [log["raw"] for log in logs[2:4]] == ['{"password": "[redacted]"}', '{"out": "12"}']
    assert {log["source"]["channel"] for log in logs} == {"claude"}


async def test_a_tool_event_that_is_sent_twice_is_one_entry(client: httpx.AsyncClient) -> None:
    event = said("", hook_event_name="PostToolUse", tool_name="Bash", tool_use_id="t1", tool_response="ok")
    for _ in range(2):
        assert (await client.post(CLAUDE, json=event)).status_code == 200
    assert len(await log_of(client)) == 1


async def test_a_deeply_nested_answer_of_a_tool_is_recorded_up_to_a_depth(client: httpx.AsyncClient) -> None:
    nested: Any = {"password": "hush"}
    for _ in range(480):
        nested = [nested]
    event = said("", hook_event_name="PostToolUse", tool_name="Bash", tool_response=nested)
    assert (await client.post(CLAUDE, json=event)).status_code == 200
    (log,) = await log_of(client, includeRaw="1")
    assert "hush" not in log["raw"]


@pytest.mark.parametrize("name", ["UserPromptSubmit", "SessionStart"])
async def test_a_prompt_is_answered_with_the_context_of_the_session(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.post(CLAUDE, json=said("", hook_event_name=name))).json() == {}, "nothing is known yet"
    await client.post(CLAUDE, json=said("we count sheep in the north field"))
    answer = (await client.post(CLAUDE, json=said("how many sheep?", hook_event_name=name))).json()
    output = answer["hookSpecificOutput"]
    assert output["hookEventName"] == name
    context = output["additionalContext"]
    assert context.startswith("[CLAWBOARD_CONTEXT_BEGIN]\n")
    assert context.endswith("\n[CLAWBOARD_CONTEXT_END]")
    assert "we count sheep in the north field" in context
    assert len(context) <= 2_200
    assert context.count("how many sheep?") <= 1, "the prompt is not recalled for itself"


async def test_the_context_of_a_prompt_is_no_longer_than_the_settings_allow_with_everything_around_it(
    sqlite_url: str,
) -> None:
    short = Settings(hooks=HooksSettings(enabled=True), context=ContextSettings(max_chars=600))
    async with open_http_server(sqlite_url, settings=short) as server, server.client() as owner:
        for field in range(8):
            await owner.post(CLAUDE, json=said(f"there are sheep in field {field}, {'and more ' * 3}"))
        answer = (await owner.post(CLAUDE, json=said("how many sheep?"))).json()
        context = answer["hookSpecificOutput"]["additionalContext"]
        assert "sheep in field 7" in context
        assert len(context) <= 600


async def test_a_prompt_gets_no_context_where_that_is_switched_off(sqlite_url: str) -> None:
    off = Settings(hooks=HooksSettings(enabled=True), context=ContextSettings(augment=False))
    async with open_http_server(sqlite_url, settings=off) as server, server.client() as owner:
        await owner.post(CLAUDE, json=said("we count sheep"))
        assert (await owner.post(CLAUDE, json=said("how many?"))).json() == {}
        assert len(await log_of(owner)) == 2


async def test_only_people_may_record_with_the_claude_hook(alice: httpx.AsyncClient) -> None:
    assert refused(await alice.post(CLAUDE, json=said("hi")))[:2] == (403, "forbidden")


@pytest.mark.parametrize("missing", ["session_id", "hook_event_name"])
async def test_an_event_of_claude_code_names_its_session_and_itself(client: httpx.AsyncClient, missing: str) -> None:
    event = {name: value for name, value in said("hi").items() if name != missing}
    assert refused(await client.post(CLAUDE, json=event))[:2] == (400, "invalid_params")
