"""MCP servers: which an account's agents may use, what they offer, and whether they work."""

from typing import Literal

from carrel.connectors import ConnectorState, RemoteTool
from carrel.kernel import PEOPLE, Access, Refusal, iso
from carrel.surfaces.api.endpoint import Call, NoQuery, Out, Page, endpoint, page_of


class McpServerState(Out, frozen=True, kw_only=True):
    """A server of the settings: since when it is as it is, how often it was started and, for people, what is wrong.

    It is `idle` until somebody wants its tools. `leftOut` names tools that it lists and that are not offered, and why.
    """

    name: str
    kind: Literal["command", "url"]
    status: Literal["idle", "starting", "ok", "failed"]
    since: str
    tools: int
    starts: int
    left_out: tuple[str, ...] = ()
    last_error: str | None = None


class McpTool(Out, frozen=True, kw_only=True):
    """A tool: the name that agents and rules know, whether it may change something, and what its server says of it."""

    name: str
    effect: Literal["read", "write"]
    description: str


class McpServerShown(McpServerState, frozen=True, kw_only=True):
    """A server with its tools, as far as they are known."""

    offered: list[McpTool]


@endpoint("GET", "/api/mcp/servers", answers={200: page_of("servers", McpServerShown)}, who=PEOPLE)
async def list_mcp_servers(call: Call[None, NoQuery]) -> Page[McpServerShown]:
    """List the MCP servers that agents of this account may use, with the tools that they offered last."""
    connectors = call.house.connectors
    return Page([
        McpServerShown.of(server_state(one), offered=[_tool(tool) for tool in connectors.last_tools(one.name)])
        for one in connectors.states(call.access.account_slug)
    ])  # fmt: skip


def server_state(state: ConnectorState) -> McpServerState:
    """Return a server as responses show it."""
    return McpServerState.of(state, since=iso(state.since) or "")


def check_servers(call: Call[object, NoQuery], access: Access, names: list[str]) -> None:
    """Refuse a server that agents of the caller's account may not use."""
    usable = call.house.connectors.usable(access.account_slug)
    for name in names:
        if name not in usable:
            raise Refusal.of_name("mcp", "MCP server", name, usable)


def _tool(tool: RemoteTool) -> McpTool:
    return McpTool(name=tool.offered_as, effect=tool.effect, description=tool.description)
