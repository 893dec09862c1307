"""MCP servers over the API: which an agent may be given, what they offer, and how they do."""

from carrel.kernel.settings import Settings
from tests.connectors.plain import plain
from tests.harness.server import open_http_server
from tests.requirements.mark import requirement


@requirement("P.mcp.settings", "P.mcp.health")
async def test_an_owner_gives_an_agent_servers_that_the_settings_open_to_the_account(surface_url: str) -> None:
    servers = {"plain": plain(), "theirs": plain(accounts=("elsewhere",)), "broken": plain("dies", env=("NOT_SET_X",))}
    async with open_http_server(surface_url, settings=Settings(mcp=servers)) as server, server.client() as owner:
        made = await owner.post("/api/agents", json={"id": "handy", "mcp": ["plain", "broken"]})
        assert made.json()["agent"]["mcp"] == ["plain", "broken"]
        theirs = await owner.patch("/api/agents/handy", json={"mcp": ["theirs"]})
        assert (theirs.status_code, theirs.json()["error"]["field"]) == (400, "mcp")
        wrong = await owner.patch("/api/agents/handy", json={"mcp": ["plane"]})
        assert "did you mean 'plain'?" in wrong.json()["error"]["message"]
        command = await owner.patch("/api/agents/handy", json={"mcp": [{"command": "sh"}]})
        assert command.status_code == 400
        await server.services.connectors.tools("default", ["plain", "broken"])
        listed = {one["name"]: one for one in (await owner.get("/api/mcp/servers")).json()["servers"]}
        assert listed.keys() == {"plain", "broken"}
        assert (listed["plain"]["status"], listed["plain"]["tools"]) == ("ok", 6)
        offered = {one["name"]: one["effect"] for one in listed["plain"]["offered"]}
        assert offered["plain_look"] == "read"
        assert offered["plain_change"] == "write"
        assert "NOT_SET_X" in listed["broken"]["lastError"]
        prompt = (await owner.get("/api/agents/handy/prompt")).json()
        assert "plain_look" in {tool["name"] for tool in prompt["tools"]}
        health = {one["name"]: one for one in (await owner.get("/api/health")).json()["mcpServers"]}
        assert (health["plain"]["status"], health["broken"]["status"]) == ("ok", "failed")
        token = await server.token(owner, kind="agent", agentId="handy")
        seen = await owner.get("/api/health", headers={"Authorization": f"Bearer {token}"})
        assert [one["lastError"] for one in seen.json()["mcpServers"]] == [None, None]


@requirement("P.mcp.health")
async def test_an_owner_tests_a_server_and_only_whoever_runs_carrel_sees_what_it_is(sqlite_url: str) -> None:
    servers = {
        "plain": plain(accounts=("*",)),
        "broken": plain(env=("NOT_SET_X",)),
        "gone": plain("dies", "no port", accounts=("*",)),
    }
    async with open_http_server(sqlite_url, settings=Settings(mcp=servers)) as server, server.client() as owner:
        tested = (await owner.post("/api/mcp/servers/plain/test")).json()["server"]
        assert (tested["status"], tested["starts"], len(tested["offered"])) == ("ok", 1, 6)
        assert (tested["accounts"], "plain_server.py honest" in tested["address"]) == (["*"], True)
        again = (await owner.post("/api/mcp/servers/plain/test")).json()["server"]
        assert (again["status"], again["starts"]) == ("ok", 1)
        broken = (await owner.post("/api/mcp/servers/broken/test")).json()["server"]
        assert (broken["status"], "NOT_SET_X" in broken["lastError"]) == ("failed", True)
        # One that has just died is to wait before it is started again, but not for a person who asks.
        for starts in (1, 2):
            gone = (await owner.post("/api/mcp/servers/gone/test")).json()["server"]
            assert (gone["status"], gone["starts"]) == ("failed", starts)
        async with server.client(server.other_owner) as other:
            listed = (await other.get("/api/mcp/servers")).json()["servers"]
            assert [(one["name"], one["address"], one["accounts"]) for one in listed] == [
                ("gone", None, None),
                ("plain", None, None),
            ]
            assert listed[0]["lastError"] == "It does not work; whoever runs Carrel can see why."
            missing = await other.post("/api/mcp/servers/broken/test")
            assert missing.status_code == 404
            assert "There is no MCP server 'broken'" in missing.json()["error"]["message"]
