"""Who sees which sessions over the API: one rule for lists, single reads, runs, changes and the stream."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from carrel.access import NewToken, mint_token
from carrel.kernel import SessionKey
from carrel.kernel.settings import (
    Settings,
    ToolNamesSettings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
    ToolsSubagentsSettings,
)
from carrel.sessions import NewChild, insert_child
from carrel.storage import Tx
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api.stream_client import follow
from tests.surfaces.api_calls import Json, refused, send_and_wait

CHILD = "agent:main:subagent:11111111-1111-4111-8111-111111111111"
GRANDCHILD = "agent:writer:subagent:22222222-2222-4222-8222-222222222222"
MAIN, TASK, OWNERS_CHAT = "agent:main:main", "agent:main:task:task_7", "agent:main:web:owners-chat"
ADAS_CHILD = "agent:main:subagent:33333333-3333-4333-8333-333333333333"
ADAS_GRANDCHILD = "agent:writer:subagent:44444444-4444-4444-8444-444444444444"
OTHER, OTHER_TASK = "agent:writer:main", "agent:writer:task:task_9"
ADAS_CHAT, BOBS_CHAT = "agent:main:web:adas-own-chat", "agent:main:web:bobs-own-chat"
SHARED = {MAIN, TASK, CHILD, GRANDCHILD, OTHER, OTHER_TASK}
ADAS = {ADAS_CHAT, ADAS_CHILD, ADAS_GRANDCHILD}
EVERY_LANE = SHARED | ADAS | {OWNERS_CHAT, BOBS_CHAT}


class World:
    """A server with lanes of two agents and chats of three people, each with one finished run."""

    def __init__(self, server: HttpServer, owner: httpx.AsyncClient) -> None:
        self.server = server
        self.owner = owner
        self.tokens: dict[str, str] = {}
        self.runs: dict[str, Json] = {}

    async def furnish(self) -> None:
        """Make the agents, the people and the lanes."""
        await self.owner.post("/api/agents", json={"id": "writer"})
        access = await self.server.access_of()

        def spawn(tx: Tx, *pairs: tuple[str, str]) -> None:
            for child, parent in pairs:
                insert_child(tx, access, NewChild(key=SessionKey.stored(child), spawned_by=SessionKey.stored(parent)))

        for key in (MAIN, TASK, OWNERS_CHAT, OTHER, OTHER_TASK):
            await self.say(self.owner, key)
        await self.server.db.write(lambda tx: spawn(tx, (CHILD, MAIN), (GRANDCHILD, CHILD)))
        for key in (CHILD, GRANDCHILD):
            await self.say(self.owner, key)
        for name, key in (("ada", ADAS_CHAT), ("bob", BOBS_CHAT)):
            user = (await self.owner.post("/api/users", json={"name": name, "slug": name})).json()["user"]["id"]
            self.tokens[name] = await self.server.token(self.owner, kind="user", userId=user)
            async with self.server.client(self.tokens[name]) as person:
                await self.say(person, key)
        pairs = (ADAS_CHILD, ADAS_CHAT), (ADAS_GRANDCHILD, ADAS_CHILD)
        await self.server.db.write(lambda tx: spawn(tx, *pairs))
        for key in (ADAS_CHILD, ADAS_GRANDCHILD):
            await self.say(self.owner, key)
        self.tokens |= {"owner": self.server.owner}
        for agent in ("main", "writer"):
            self.tokens[agent] = await self.server.token(self.owner, kind="agent", agentId=agent)

    async def say(self, client: httpx.AsyncClient, key: str) -> None:
        """Say something in a lane and keep its run."""
        self.runs[key] = await send_and_wait(client, f"said in {key}", sessionKey=key)

    async def run_token(self, key: str) -> str:
        """Return the token of a run that is under way in a lane; it never ends."""
        name = key.replace(":", "-")
        started = await self.owner.post("/api/runs", json={"message": f"hold {name}", "sessionKey": key})
        await self.server.agent.reached(name)
        new = NewToken(kind="run", name="run", agent_id=key.split(":")[1], run_id=started.json()["runId"])
        access = await self.server.access_of()
        return (await self.server.db.write(lambda tx: mint_token(tx, access, new)))[1]


@pytest.fixture
async def viewed(either_server: HttpServer) -> AsyncIterator[World]:
    """The world under the settings of the test."""
    async with either_server.client() as owner:
        built = World(either_server, owner)
        await built.furnish()
        yield built


def full(key: str, agent: str) -> str:
    """Return the full key of a lane that its own agent knows as main."""
    return f"agent:{agent}:main" if key == "main" else key


async def seen_by(viewed: World, token: str, home: str = MAIN) -> dict[str, set[str]]:
    """Return the lanes that a token sees, by the way it looks."""
    async with viewed.server.client(token) as caller:
        listed = (await caller.get("/api/sessions", params={"limit": 200})).json()
        runs = (await caller.get("/api/runs", params={"limit": 200})).json()["runs"]
        logs = (await caller.get("/api/changes")).json()["logs"]
        reads = {
            what: {key for key in EVERY_LANE if (await caller.get(f"/api/sessions/{key}{what}")).status_code == 200}
            for what in ("", "/history", "/generations", "/queue")
        }
        by_id = {
            key
            for key, run in viewed.runs.items()
            if (await caller.get(f"/api/sessions/{run['sessionId']}")).status_code == 200
        }
        of_runs = {
            what: {
                key
                for key, run in viewed.runs.items()
                if (await caller.get(f"/api/runs/{run['id']}{what}")).status_code == 200
            }
            for what in ("", "/wait", "/why", "/receipt")
        }
        streamed = await heard(caller, viewed, home)
    return {
        "list": {full(row["key"], home.split(":")[1]) for row in listed["sessions"]},
        "runs": {run["sessionKey"] for run in runs},
        "changes": {log["sessionKey"] for log in logs},
        "stream": streamed,
        "by id": by_id,
        **reads,
        **{f"run{what}": keys for what, keys in of_runs.items()},
    }


async def heard(caller: httpx.AsyncClient, viewed: World, home: str) -> set[str]:
    """Return the lanes of all events that a caller is sent, up to one in a lane that it sees."""
    async with follow(caller, last_event_id=0) as follower:
        last = (await viewed.owner.post("/api/runs", json={"message": "the last", "sessionKey": home})).json()["runId"]
        frames = [await follower.next()]
        while frames[-1].body.get("runId") != last:
            frames.append(await follower.next())
    return {frame.body["sessionKey"] for frame in frames[1:]} - {None}


def asked(mode: Any, **more: Any) -> Settings:
    """Return settings with a visibility."""
    return Settings(tools=ToolsSettings(sessions=ToolsSessionsSettings(visibility=mode), **more))


TOGETHER = ToolsAgentToAgentSettings(enabled=True)
VIEWS = [
    (asked("self"), {MAIN}),
    (asked("tree"), {MAIN, CHILD, GRANDCHILD}),
    (asked("agent"), {MAIN, CHILD, GRANDCHILD, TASK, OWNERS_CHAT, ADAS_CHAT, ADAS_CHILD, BOBS_CHAT}),
    (asked("all"), {MAIN, CHILD, GRANDCHILD, TASK, OWNERS_CHAT, ADAS_CHAT, ADAS_CHILD, BOBS_CHAT}),
    (asked("all", agent_to_agent=TOGETHER), EVERY_LANE),
]


@requirement("S2.visibility.everywhere", "S2.x.list.told")
@pytest.mark.parametrize(("settings", "expected"), VIEWS)
async def test_an_agent_sees_over_the_api_what_its_tools_show_it(viewed: World, expected: set[str]) -> None:
    token = viewed.tokens["main"]
    for way, seen in (await seen_by(viewed, token)).items():
        assert seen == expected, way
    async with viewed.server.client(token) as agent:
        listed = (await agent.get("/api/sessions")).json()
        told = (await agent.post("/agent/sessions_list", json={})).json()
    assert listed["visibility"] == told["visibility"]
    assert {row["key"] for row in listed["sessions"]} == {row["key"] for row in told["sessions"]}


@requirement("S2.visibility.clamp")
async def test_a_sandbox_narrows_the_api_as_it_narrows_the_tools(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url, settings=asked("agent")) as server, server.client() as owner:
        viewed = World(server, owner)
        await viewed.furnish()
        (await owner.patch("/api/agents/main", json={"sandbox": "on"})).raise_for_status()
        assert (await seen_by(viewed, viewed.tokens["main"]))["list"] == {MAIN, CHILD, GRANDCHILD}


async def test_a_run_sees_from_its_own_session(viewed: World) -> None:
    for way, seen in (await seen_by(viewed, await viewed.run_token(TASK), TASK)).items():
        assert seen == {TASK}, way
    # A sub-agent has no session tools, so it sees nothing but itself, not even what it spawned.
    for way, seen in (await seen_by(viewed, await viewed.run_token(CHILD), CHILD)).items():
        assert seen == {CHILD}, way


@pytest.mark.settings(
    tools=ToolsSettings(subagents=ToolsSubagentsSettings(tools=ToolNamesSettings(allow=("sessions_*",))))
)
async def test_a_sub_agent_that_has_the_session_tools_sees_its_tree(viewed: World) -> None:
    for way, seen in (await seen_by(viewed, await viewed.run_token(CHILD), CHILD)).items():
        assert seen == {CHILD, GRANDCHILD}, way


@pytest.mark.settings(
    tools=ToolsSettings(subagents=ToolsSubagentsSettings(tools=ToolNamesSettings(deny=("task_list",))))
)
async def test_a_sub_agent_may_not_do_on_the_api_what_its_tools_may_not(viewed: World) -> None:
    for key, status in ((TASK, 200), (CHILD, 403)):
        async with viewed.server.client(await viewed.run_token(key)) as caller:
            assert (await caller.get("/api/tasks")).status_code == status


async def test_a_person_sees_everything_but_the_chats_of_others(viewed: World) -> None:
    for way, seen in (await seen_by(viewed, viewed.tokens["ada"])).items():
        assert seen == SHARED | ADAS, way
    for way, seen in (await seen_by(viewed, viewed.tokens["bob"])).items():
        assert seen == SHARED | {BOBS_CHAT}, way
    for way, seen in (await seen_by(viewed, viewed.tokens["owner"])).items():
        assert seen == EVERY_LANE, way
    async with viewed.server.client(viewed.tokens["ada"]) as ada:
        assert (await ada.get("/api/sessions")).json()["visibility"] == {"mode": "all", "hidden": True}
    assert (await viewed.owner.get("/api/sessions")).json()["visibility"] == {"mode": "all", "hidden": False}


async def test_a_list_of_what_one_may_see_is_paged_without_gaps(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["ada"]) as ada:
        for path, name, key in (("/api/sessions", "sessions", "key"), ("/api/runs", "runs", "sessionKey")):
            seen: list[str] = []
            cursor: str | None = None
            while True:
                page = (await ada.get(path, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
                seen += [row[key] for row in page[name]]
                cursor = page["nextCursor"]
                assert len(page[name]) == 2 or cursor is None, "a page is full unless it is the last"
                if cursor is None:
                    break
            assert sorted(seen) == sorted(SHARED | ADAS)


async def test_nobody_acts_on_the_chat_of_another_person(viewed: World) -> None:
    run, chat = f"/api/runs/{viewed.runs[ADAS_CHAT]['id']}", f"/api/sessions/{ADAS_CHAT}"
    (await viewed.owner.post("/api/schedules", json={**DAILY, "sessionId": ADAS_CHAT})).raise_for_status()
    schedule = (await viewed.owner.get("/api/schedules", params={"sessionId": ADAS_CHAT})).json()["schedules"][0]["id"]
    before = (await viewed.owner.get(f"{chat}/history")).json()
    async with viewed.server.client(viewed.tokens["bob"]) as bob:
        for method, path, body in (
            ("POST", f"{chat}/send", {"message": "hi"}),
            ("POST", "/api/runs", {"message": "hi", "sessionKey": ADAS_CHAT}),
            ("POST", "/api/chat", {"text": "hi", "sessionKey": ADAS_CHAT}),
            ("POST", "/api/chat", {"text": "hi", "sessionId": "adas-own-chat"}),
            ("POST", "/api/chat", {"text": "hi", "answersRunId": viewed.runs[ADAS_CHAT]["id"]}),
            ("POST", "/api/chat", {"text": "/switch adas-own-chat", "sessionKey": ADAS_CHAT}),
            ("POST", "/api/sessions", {"conversationKey": "adas-own-chat", "displayName": "mine now"}),
            ("POST", "/api/sessions/active", {"clientInstanceId": "tab", "sessionId": "adas-own-chat"}),
            ("PATCH", chat, {"label": "mine now"}),
            ("POST", f"{chat}/reset", None),
            ("POST", f"{chat}/stop", None),
            ("POST", f"{chat}/archive", None),
            ("POST", f"{chat}/unarchive", None),
            ("DELETE", chat, None),
            ("POST", f"{run}/cancel", None),
            ("POST", f"{run}/retry", None),
            ("POST", f"{run}/announce", None),
            ("POST", f"{run}/answer", {"text": "hi"}),
            ("POST", "/api/schedules", {**DAILY, "sessionId": ADAS_CHAT}),
            ("GET", f"/api/schedules?sessionId={ADAS_CHAT}", None),
            ("GET", f"/api/schedules/{schedule}", None),
            ("PATCH", f"/api/schedules/{schedule}", {"enabled": False}),
            ("POST", f"/api/schedules/{schedule}/run", None),
            ("DELETE", f"/api/schedules/{schedule}", None),
            ("GET", f"/api/stream?sessionKey={ADAS_CHAT}", None),
            ("GET", f"/api/runs?sessionKey={ADAS_CHAT}", None),
        ):
            answer = await bob.request(method, path, json=body)
            assert refused(answer)[:2] == (404, "not_found"), (method, path)
        switched = await bob.post("/api/chat", json={"text": "/switch adas-own-chat", "clientInstanceId": "tab"})
        assert "There is no session" in switched.json()["reply"]
        found = (await bob.get("/api/sessions", params={"q": "adas"})).json()
        assert (found["count"], found["sessions"]) == (0, [])
        assert (await bob.get("/api/notifications")).json()["notifications"] == []
    assert (await viewed.owner.get(f"{chat}/history")).json() == before


DAILY = {"type": "message", "message": "hi", "cron": "0 0 1 1 *"}


async def test_what_may_not_be_seen_and_what_does_not_exist_look_alike(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["writer"]) as writer:
        for missing, hidden in (
            ("agent:main:task:none", TASK),
            ("agent:writer:task:none", OTHER_TASK),
            ("agent:nobody:main", MAIN),
            (f"{MAIN}:v9", f"{MAIN}:v1"),
            ("no-such-chat", "adas-own-chat"),
        ):
            for path in ("/api/sessions/{}", "/api/sessions/{}/history", "/api/runs?sessionKey={}"):
                gone, there = [await writer.get(path.format(name)) for name in (missing, hidden)]
                assert (gone.status_code, there.status_code) == (404, 404)
                words = [body.json()["error"]["message"] for body in (gone, there)]
                assert words[0].replace(missing, "") == words[1].replace(hidden, ""), path
    async with viewed.server.client(viewed.tokens["main"]) as main:
        for missing, hidden in (("agent:writer:task:none", OTHER_TASK), ("agent:writer:main:v9", f"{OTHER}:v1")):
            told = [await main.post("/agent/sessions_history", json={"sessionKey": key}) for key in (missing, hidden)]
            assert [refused(answer)[:2] for answer in told] == [(403, "forbidden")] * 2
            assert told[0].json()["error"] == told[1].json()["error"]


async def test_agents_are_told_which_tool_sends_for_them(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["main"]) as agent:
        for path, body in (
            ("/api/runs", {"message": "hi"}),
            (f"/api/sessions/{MAIN}/send", {"message": "hi"}),
            ("/api/chat", {"text": "hi"}),
        ):
            answer = await agent.post(path, json=body)
            assert refused(answer)[:2] == (403, "forbidden")
            assert "POST /agent/sessions_send" in answer.json()["error"]["message"]
        answer = await agent.post(f"/api/sessions/{MAIN}/reset")
        assert "use one of kind owner or user" in answer.json()["error"]["message"]


async def test_a_key_that_another_person_takes_over_shows_nothing_of_the_past(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["ada"]) as ada, viewed.server.client(viewed.tokens["bob"]) as bob:
        async with follow(ada) as follower:
            await follower.next()
            (await ada.delete(f"/api/sessions/{ADAS_CHAT}")).raise_for_status()
            frames = await follower.until("session.deleted")
            assert frames[-1].body["sessionKey"] == ADAS_CHAT, "she hears of her own chat"
        assert (await ada.get("/api/changes", params={"sinceSeq": 1})).json()["deleted"]["sessions"] == [ADAS_CHAT]
        assert (await bob.get("/api/changes", params={"sinceSeq": 1})).json()["deleted"]["sessions"] == []
        assert ADAS_CHAT not in await heard(bob, viewed, MAIN)
        made = await bob.post("/api/sessions", json={"conversationKey": "adas-own-chat"})
        assert made.json()["sessionKey"] == ADAS_CHAT
        assert refused(await ada.get(f"/api/sessions/{ADAS_CHAT}"))[0] == 404
        viewed.runs[BOBS_CHAT] = await send_and_wait(bob, "a secret of bob", sessionKey=ADAS_CHAT)
        for caller, others in ((ada, "a secret of bob"), (bob, f"said in {ADAS_CHAT}")):
            assert others not in (await caller.get("/api/changes")).text
            async with follow(caller, last_event_id=0) as follower:
                last = await send_and_wait(viewed.owner, "the last", sessionKey=MAIN)
                frames = [await follower.next()]
                while frames[-1].body.get("runId") != last["id"]:
                    frames.append(await follower.next())
            assert others not in str(frames)


async def test_what_was_spawned_from_a_deleted_chat_is_shown_to_no_later_owner_of_its_key(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["ada"]) as ada, viewed.server.client(viewed.tokens["bob"]) as bob:
        (await ada.delete(f"/api/sessions/{ADAS_CHAT}")).raise_for_status()
        await viewed.say(bob, ADAS_CHAT)
        for key in (ADAS_CHILD, ADAS_GRANDCHILD):
            assert refused(await bob.get(f"/api/sessions/{key}"))[:2] == (404, "not_found")
            assert (await viewed.owner.get(f"/api/sessions/{key}")).status_code == 200
        listed = {row["key"] for row in (await bob.get("/api/sessions", params={"limit": 200})).json()["sessions"]}
        assert ADAS_CHAT in listed
        assert not listed & {ADAS_CHILD, ADAS_GRANDCHILD}


async def test_the_deletion_of_a_spawned_lane_is_told_to_those_who_saw_it(viewed: World) -> None:
    async with viewed.server.client(viewed.tokens["ada"]) as ada, viewed.server.client(viewed.tokens["bob"]) as bob:
        for key in (ADAS_GRANDCHILD, GRANDCHILD):
            (await viewed.owner.delete(f"/api/sessions/{key}")).raise_for_status()
        for person, seen in ((ada, [ADAS_GRANDCHILD, GRANDCHILD]), (bob, [GRANDCHILD])):
            told = (await person.get("/api/changes", params={"sinceSeq": 1})).json()
            assert told["deleted"]["sessions"] == seen
        assert ADAS_GRANDCHILD not in await heard(bob, viewed, MAIN)


async def test_a_session_shows_what_it_may_read_and_what_was_refused(viewed: World) -> None:
    token = await viewed.run_token(TASK)
    async with viewed.server.client(token) as run:
        for _ in range(2):
            sent = {"sessionKey": OTHER, "message": "hi", "timeoutSeconds": 0}
            answer = (await run.post("/agent/sessions_send", json=sent)).json()
            assert (answer["status"], answer.get("runId")) == ("forbidden", None)
        shown = (await run.get("/api/sessions/current/access")).json()
        assert refused(await run.get(f"/api/sessions/{MAIN}/access"))[:2] == (404, "not_found")
    (blocked,) = shown.pop("blocked")
    task = TASK.removeprefix("agent:main:")
    assert shown == {
        "chain": [task, f"session:{task}", "global"],
        "spaceIds": ["*"],
        "recall": {"recall": "own", "chosenBy": "settings", "onBoard": False},
        "visibility": {"mode": "tree", "keys": [TASK]},
    }
    assert (blocked["kind"], blocked["count"]) == ("sessions_send", 2)
    assert "tools.sessions.visibility is tree" in blocked["rule"]
    assert blocked["lastAt"].endswith("Z")
    main = (await viewed.owner.get(f"/api/sessions/{MAIN}/access")).json()
    assert set(main["visibility"]["keys"]) == {MAIN, CHILD, GRANDCHILD}
    assert main["blocked"] == []
    async with viewed.server.client(viewed.tokens["bob"]) as bob:
        assert refused(await bob.get(f"/api/sessions/{ADAS_CHAT}/access"))[:2] == (404, "not_found")


async def test_every_reason_says_what_can_be_done_even_if_that_is_nothing(viewed: World) -> None:
    (reason,) = (await viewed.owner.get(f"/api/runs/{viewed.runs[MAIN]['id']}/why")).json()["reasons"]
    assert (reason["code"], reason["actions"]) == ("done", [])
