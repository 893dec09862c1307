"""The tools of the board, at every door and by both names."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec import structs

from carrel.access import make_space
from carrel.agents import agent_by_id
from carrel.board import LogSource, NewLog, record
from carrel.kernel import SessionKey
from carrel.sessions import make_lane
from carrel.storage import Tx
from carrel.tools import CATALOG
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait
from tests.surfaces.mcp.client import result_of

HEADER = "x-openclaw-session-key"
BOARD_TOOLS = {
    "clawboard_search", "clawboard_context", "clawboard_get_topic", "clawboard_get_task", "clawboard_get_log",
    "clawboard_create_note", "clawboard_update_task",
}  # fmt: skip


class BoardServer:
    """A server with a board, its owner, and its agent main."""

    def __init__(self, server: HttpServer, owner: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
        self.server, self.owner, self.agent = server, owner, agent

    async def call(self, tool: str, key: str = "agent:main:main", **arguments: Any) -> httpx.Response:
        """Call a tool as the agent, from a session."""
        return await self.agent.post(f"/agent/{tool}", json=arguments, headers={HEADER: key})

    async def result(self, tool: str, key: str = "agent:main:main", **arguments: Any) -> Json:
        """Return what a call gives."""
        answer = await self.call(tool, key, **arguments)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def by_model(self, tool: str, **arguments: Any) -> Any:
        """Return what the call of a model gives."""
        await send_and_wait(self.owner, f"do {json.dumps([[tool, arguments]])}", sessionKey="agent:main:main")
        items = [item for body in self.server.agent.bodies for item in body["input"]]
        return json.loads([item["output"] for item in items if item.get("type") == "function_call_output"][-1])


def furnish(tx: Tx, server: HttpServer) -> None:
    """Two spaces with a topic, a task and an entry each; and an entry of a session."""
    owner, rules = server.access, server.rules
    for name in ("work", "home"):
        make_space(tx, owner, name.title())
        topic = NewTopic(id=f"topic-{name}", name=f"Gasket at {name}", space_id=f"space-{name}")
        put_topic(tx, owner, topic)
        task = NewTask(id=f"task-{name}", title=f"Order the {name} gasket", topic_id=topic.id, space_id=f"space-{name}")
        create_task(tx, owner, task, rules)
        said = NewLog(id=f"log-{name}", type="conversation", content=f"The {name} gasket leaks", raw="{}",
                      topic_id=topic.id, source=LogSource())  # fmt: skip
        record(tx, owner, said)
    make_lane(tx, owner, SessionKey.stored("agent:main:hook:far"))
    make_lane(tx, owner, SessionKey.stored("agent:main:main"))
    far = LogSource(session_key="agent:main:hook:far")
    record(tx, owner, NewLog(id="log-far", type="conversation", content="A far gasket", source=far))


@pytest.fixture
async def tools(surface_url: str) -> AsyncIterator[BoardServer]:
    async with open_http_server(surface_url) as server, server.client() as owner:
        await server.db.write(lambda tx: furnish(tx, server))
        await server.indexed()
        async with server.client(await server.token(owner, kind="agent", agentId="main")) as agent:
            yield BoardServer(server, owner, agent)


async def change_agent(board: BoardServer, **profile: Any) -> None:
    answer = await board.owner.patch("/api/agents/main", json=profile)
    assert answer.status_code == 200, answer.text


async def limit_to_work(tools: BoardServer) -> None:
    """Limit the agent to one space."""
    await change_agent(tools, spaceIds=["space-work"])


def ids(found: Json) -> set[str]:
    return {hit["id"] for kind in ("topics", "tasks", "logs", "notes") for hit in found[kind]}


@requirement("S4.tool.offered")
async def test_the_tools_of_the_board_are_offered_at_every_door_and_to_sub_agents(tools: BoardServer) -> None:
    http = (await tools.agent.get("/agent")).json()["tools"]
    assert {tool["name"] for tool in http} >= BOARD_TOOLS
    aliases = {tool["name"]: tool["aliases"] for tool in http}
    assert aliases["clawboard_get_log"] == ["clawboard-get-log", "board_get_log", "board-get-log"]
    mcp = (await result_of(tools.agent, "tools/list"))["tools"]
    assert {tool["name"] for tool in mcp} >= BOARD_TOOLS
    await send_and_wait(tools.owner, "hello", sessionKey="agent:main:subagent:8d9c4c2e-1b7a-4c55-9a7b-0a4a4b6f2d11")
    # For tasks a model is shown task_history and task_update, which do the same; the context is in its request.
    elsewhere = {"clawboard_get_task", "clawboard_update_task", "clawboard_context"}
    offered = {tool["name"] for tool in tools.server.agent.bodies[-1]["tools"]}
    assert offered >= {name.replace("clawboard_", "board_") for name in BOARD_TOOLS - elsewhere}, "by our own names"
    assert not [name for name in offered if "clawboard" in name]


@requirement("S4.tool.search", "S4.tool.offered")
async def test_a_search_gives_the_same_at_every_door_and_by_both_names(tools: BoardServer) -> None:
    wanted = {"topic-work", "topic-home", "task-work", "task-home", "log-work", "log-home"}
    for name in ("clawboard_search", "board_search", "board-search"):
        assert ids(await tools.result(name, q="gasket")) == wanted
    answer = await result_of(tools.agent, "tools/call", {"name": "board_search", "arguments": {"q": "gasket"}})
    assert ids(answer["structuredContent"]) == wanted
    by_model = await tools.by_model("board_search", q="gasket")
    assert wanted - {"log-work", "log-home"} <= ids(by_model)
    assert not {"log-work", "log-home"} & ids(by_model), "inside a run, a lane recalls itself"
    few = await tools.result("clawboard_search", q="gasket", limitTopics=1, limitTasks=0, limitLogs=-5)
    assert [len(few[kind]) for kind in ("topics", "tasks", "logs")] == [1, 1, 1]
    assert ids(await tools.result("clawboard_search", q="gasket", topicId="topic-home")) == {
        "topic-home", "task-home", "log-home",
    }  # fmt: skip


@requirement("S4.tool.search")
async def test_long_texts_are_clipped_and_a_large_result_still_fits(tools: BoardServer) -> None:
    def write(tx: Tx) -> None:
        for at in range(330):
            text = f"gasket {at} " + "x" * 2_000
            record(tx, tools.server.access, NewLog(type="conversation", content=text, topic_id="topic-work"))

    await tools.server.db.write(write)
    await tools.server.indexed()
    found = await tools.result("clawboard_search", q="gasket", limitLogs=320)
    assert "truncated" not in found
    assert max(len(hit["content"]) for hit in found["logs"]) == 320
    assert 10 < len(found["logs"]) < 320
    assert len(json.dumps(found)) <= 80 * 1024


@requirement("S4.tool.scope", "S4.context.lane.session")
async def test_a_search_stays_in_the_spaces_of_the_agent_and_in_its_session(tools: BoardServer) -> None:
    assert "log-far" not in ids(await tools.result("clawboard_search", q="gasket"))
    assert "log-far" in ids(await tools.result("clawboard_search", "agent:main:hook:far", q="gasket"))
    await limit_to_work(tools)
    for more in ({}, {"sessionKey": "clawboard:topic:topic-home"}, {"topicId": "topic-home"}):
        found = ids(await tools.result("clawboard_search", q="gasket", **more))
        assert found <= {"topic-work", "task-work", "log-work"}
    assert ids(await tools.result("clawboard_search", q="gasket")) == {"topic-work", "task-work", "log-work"}
    answer = await tools.call("clawboard_search", q="gasket", spaceId="space-home")
    assert refused(answer) == (400, "invalid_params", "spaceId")


async def test_a_session_that_the_agent_may_not_see_is_refused_and_a_foreign_name_is_allowed(
    tools: BoardServer,
) -> None:
    await tools.owner.post("/api/agents", json={"id": "other", "name": "Other"})
    async with tools.server.client(await tools.server.token(tools.owner, kind="agent", agentId="other")) as other:
        await send_and_wait(tools.owner, "hello", sessionKey="agent:main:main")
        rows = (await tools.owner.get("/api/sessions/agent:main:main/generations")).json()["sessions"]
        for hidden in ("agent:main:main", "agent:main:main:v1", rows[0]["sessionId"]):
            for tool in ("clawboard_search", "board_context"):
                answer = await other.post(f"/agent/{tool}", json={"q": "x", "sessionKey": hidden})
                assert refused(answer) == (403, "forbidden", "sessionKey"), (tool, hidden)
            for path in ("/api/search", "/api/context"):
                answer = await other.get(path, params={"q": "x", "sessionKey": hidden})
                assert refused(answer) == (403, "forbidden", "sessionKey"), (path, hidden)
        said = {"type": "note", "content": "x", "relatedLogId": "log-work", "source": {"sessionKey": "agent:main:main"}}
        assert refused(await other.post("/api/log", json=said)) == (403, "forbidden", "sessionKey")
        unopened = await other.get("/api/context", params={"sessionKey": "agent:main:hook:unopened"})
        assert refused(unopened) == (403, "forbidden", "sessionKey")
        named = await other.post("/agent/clawboard_search", json={"q": "gasket", "sessionKey": "channel:7"})
        assert "log-work" in ids(named.json())
        for free in ("channel:7", "agent:nobody:main"):
            answer = await other.post("/agent/clawboard_context", json={"q": "gasket", "sessionKey": free})
            assert answer.status_code == 200, answer.text


@requirement("S4.context.lane.sandbox")
async def test_a_sandboxed_agent_finds_and_reads_only_entries_of_sessions_it_may_see(tools: BoardServer) -> None:
    def write(tx: Tx) -> None:
        own = LogSource(session_key="agent:main:main")
        record(tx, tools.server.access, NewLog(id="log-own", type="conversation", content="My gasket",
                                               topic_id="topic-work", source=own))  # fmt: skip

    await tools.server.db.write(write)
    await change_agent(tools, sandbox="on")
    await tools.server.indexed()
    found = await tools.result("clawboard_search", q="gasket")
    assert {hit["id"] for hit in found["logs"]} == {"log-own"}
    assert (await tools.result("clawboard_get_log", id="log-own"))["log"]["id"] == "log-own"
    assert refused(await tools.call("clawboard_get_log", id="log-work"))[:2] == (404, "not_found")
    noted = await tools.call("clawboard_create_note", relatedLogId="log-work", text="x")
    assert refused(noted)[:2] == (404, "not_found")


@requirement("S4.tool.context")
async def test_the_context_of_a_session_is_the_one_of_the_api_without_its_data(tools: BoardServer) -> None:
    key = "agent:main:main"
    given = await tools.result("clawboard_context", q="what of the gasket?", mode="full")
    query: dict[str, Any] = {
        "q": "what of the gasket?", "sessionKey": key, "mode": "full", "maxChars": 6000, "workingSetLimit": 8,
        "timelineLimit": 8,
    }  # fmt: skip
    shown = (await tools.agent.get("/api/context", params=query, headers={HEADER: key})).json()
    assert "data" not in given
    assert given["block"] == shown["block"]
    assert "gasket" in given["block"]
    assert len((await tools.result("board_context", q="gasket", maxChars=50))["block"]) <= 50
    await limit_to_work(tools)
    assert "home" not in (await tools.result("clawboard_context", q="what of the gasket?", mode="full"))["block"]


@requirement("S4.tool.get")
async def test_one_thing_in_view_is_read_by_its_id_and_any_other_is_not_found(tools: BoardServer) -> None:
    await limit_to_work(tools)
    assert (await tools.result("clawboard_get_topic", id="topic-work"))["topic"]["name"] == "Gasket at work"
    assert (await tools.result("board_get_task", id="task-work"))["task"]["title"] == "Order the work gasket"
    log = (await tools.result("clawboard_get_log", id="log-work"))["log"]
    assert (log["content"], "raw" in log) == ("The work gasket leaks", False)
    assert (await tools.result("clawboard_get_log", id="log-work", includeRaw=True))["log"]["raw"] == "{}"
    for kind in ("topic", "task", "log"):
        for name in (f"{kind}-home", "nothing"):
            assert refused(await tools.call(f"clawboard_get_{kind}", id=name))[:2] == (404, "not_found"), name
    assert refused(await tools.call("clawboard_get_log", id="log-far"))[:2] == (404, "not_found")


@requirement("S4.tool.note")
async def test_a_note_belongs_where_the_entry_does_and_is_found(tools: BoardServer) -> None:
    note = (await tools.result("clawboard_create_note", relatedLogId="log-work", text="Use copper"))["log"]
    assert (note["type"], note["relatedLogId"], note["topicId"]) == ("note", "log-work", "topic-work")
    assert (note["agentId"], note["spaceId"]) == ("main", "space-work")
    placed = await tools.result("clawboard_create_note", relatedLogId="log-work", text="Elsewhere", taskId="task-home")
    assert placed["log"]["taskId"] == "task-home"
    await tools.server.indexed()
    assert [hit["id"] for hit in (await tools.result("clawboard_search", q="copper"))["notes"]] == [note["id"]]
    for more in ({"text": ""}, {"text": "x" * 1_601}, {"text": "x", "spaceId": "space-work"}):
        answer = await tools.call("clawboard_create_note", relatedLogId="log-work", **more)
        assert refused(answer)[:2] == (400, "invalid_params")
    await limit_to_work(tools)
    for where in ({"relatedLogId": "log-home"}, {"relatedLogId": "log-work", "topicId": "topic-home"},
                  {"relatedLogId": "log-work", "taskId": "task-home"}):  # fmt: skip
        answer = await tools.call("clawboard_create_note", text="x", **where)
        assert refused(answer)[:2] == (404, "not_found"), where


@requirement("S4.tool.strict")
async def test_every_tool_of_the_board_refuses_what_it_does_not_know_and_wrong_types_by_name(
    tools: BoardServer,
) -> None:
    right: dict[str, Json] = {
        "clawboard_search": {"q": "gasket"}, "clawboard_context": {}, "clawboard_get_topic": {"id": "topic-work"},
        "clawboard_get_task": {"id": "task-work"}, "clawboard_get_log": {"id": "log-work"},
        "clawboard_create_note": {"relatedLogId": "log-work", "text": "x"},
        "clawboard_update_task": {"id": "task-work", "pinned": True},
    }  # fmt: skip
    assert right.keys() == BOARD_TOOLS
    for tool, arguments in right.items():
        unknown = await tools.call(tool, **arguments, surprise=1)
        assert refused(unknown) == (400, "invalid_params", "surprise"), tool
        for field, kind in CATALOG.find(tool).schema()["properties"].items():
            wrong = await tools.call(tool, **arguments | {field: {"not": "this"}})
            assert refused(wrong) == (400, "invalid_params", field), f"{tool} {field} {kind}"
        assert (await tools.call(tool, **arguments)).status_code == 200, tool


@requirement("S4.tool.update", "S4.tool.strict")
async def test_a_task_is_changed_only_in_what_is_given(tools: BoardServer) -> None:
    before = (await tools.result("clawboard_get_task", id="task-work"))["task"]
    given: dict[str, Any] = {
        "priority": "high",
        "dueDate": "2030-01-02T03:04:05.000Z",
        "pinned": True,
        "tags": ["soon"],
    }
    after = (await tools.result("board_update_task", id="task-work", **given))["task"]
    assert after == before | given | {
        "priority": 2, "priorityLabel": "high", "updatedAt": after["updatedAt"], "spaceId": after["spaceId"],
    }  # fmt: skip
    assert (await tools.result("clawboard_update_task", id="task-work", dueDate=""))["task"]["dueDate"] is None
    doing = (await tools.result("clawboard_update_task", id="task-work", status="doing"))["task"]
    assert (doing["status"], doing["assignedAgentIds"]) == ("in_progress", ["main"])
    blocked = (await tools.result("clawboard_update_task", id="task-work", status="blocked"))["task"]
    assert (blocked["status"], blocked["blockedReason"]) == ("blocked", "not given")
    for wrong, field in (({}, "id"), ({"title": "x"}, "title"), ({"pinned": "yes"}, "pinned"),
                         ({"dueDate": "soon"}, "dueDate")):  # fmt: skip
        answer = await tools.call("clawboard_update_task", id="task-work", **wrong)
        assert refused(answer) == (400, "invalid_params", field), wrong
    await change_agent(tools, behaviorFlags={"canModifyTaskStatus": False})
    answer = await tools.call("clawboard_update_task", id="task-work", pinned=False)
    assert refused(answer)[:2] == (403, "tool_not_allowed")


async def test_a_rule_for_one_name_of_a_tool_holds_for_the_other(tools: BoardServer) -> None:
    await change_agent(tools, tools={"allow": ["*"], "deny": ["board_search"]})
    for name in ("clawboard_search", "board_search"):
        assert refused(await tools.call(name, q="x"))[:2] == (403, "tool_not_allowed")
    agent = await tools.server.db.read(lambda tx: agent_by_id(tx, tools.server.access, "main"))
    assert agent is not None
    assert structs.asdict(CATALOG.find("board_search")) == structs.asdict(CATALOG.find("clawboard_search"))
