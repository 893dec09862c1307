"""MCP servers: which an account's agents may use, what they offer, and whether they work."""

from typing import Literal

from carrel.connectors import ConnectorFields, ConnectorState
from carrel.kernel import PEOPLE, Access, Code, Refusal, Shape
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, endpoint


class McpServerState(ConnectorFields[str], frozen=True, kw_only=True):
    """A server in the settings: its state and since when, how often it was started and, for people, what is wrong.

    It is `idle` until somebody wants its tools. `leftOut` names tools that it lists but that are not offered, and why.
    """


class McpTool(Shape, frozen=True, kw_only=True):
    """A tool: the name that agents and rules know, whether it may change something, and its server's description."""

    name: str
    effect: Literal["read", "write"]
    description: str


class McpServerShown(McpServerState, frozen=True, kw_only=True):
    """A server with its tools, as far as they are known.

    Whoever runs Carrel also sees its command line or URL, and the accounts whose agents may use it.
    """

    offered: list[McpTool]
    address: str | None = None
    accounts: tuple[str, ...] | None = None


@endpoint("GET", "/api/mcp/servers", "servers", who=PEOPLE)
async def list_mcp_servers(call: Call[None, NoQuery]) -> Page[McpServerShown]:
    """List the MCP servers that agents of this account may use, with the tools that they offered last."""
    return Page([_shown(call, state) for state in call.services.connectors.states(call.access.account_slug)])


@endpoint("POST", "/api/mcp/servers/{name}/test", "server", who=OWNER)
async def test_mcp_server(call: Call[None, NoQuery]) -> McpServerShown:
    """Start a server unless it runs, list its tools again, and return its state."""
    connectors, account, name = call.services.connectors, call.access.account_slug, call.path("name")
    state = await connectors.check(account, name)
    if state is None:
        raise Refusal.of_name(None, "MCP server", name, connectors.usable(account), code=Code.NOT_FOUND)
    return _shown(call, state)


def _shown(call: Call[None, NoQuery], state: ConnectorState) -> McpServerShown:
    lists = call.services.connectors.last_tools(call.access.account_slug, [state.name])
    tools = [McpTool(name=tool.offered_as, effect=tool.effect, description=tool.description)
             for one in lists for tool in one.tools]  # fmt: skip
    address, accounts = (state.address, state.accounts) if call.access.is_operator else (None, None)
    return McpServerShown.of(server_state(state, call.access), offered=tools, address=address, accounts=accounts)


def server_state(state: ConnectorState, access: Access) -> McpServerState:
    """Return a server as a caller may see it; its last words may concern other accounts."""
    fault = state.last_error
    if not access.is_operator and fault is not None:
        fault = "It does not work; whoever runs Carrel can see why." if access.is_person else None
    return McpServerState.of(state, last_error=fault)


def check_servers(call: Call[object, NoQuery], access: Access, names: list[str]) -> None:
    """Refuse a server that agents of the caller's account may not use."""
    usable = call.services.connectors.usable(access.account_slug)
    for name in names:
        if name not in usable:
            raise Refusal.of_name("mcp", "MCP server", name, usable)
