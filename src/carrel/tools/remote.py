"""Tools of MCP servers among ours. Their effect is elsewhere, so beginning, making and ending a call are separate.

A call is recorded before it is made. One that is found later without a result is reported as lost.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from carrel.access import account_of
from carrel.agents import Agent, agent_by_id
from carrel.connectors import CallFailed, CallResult, Connectors, RemoteTool, ToolList
from carrel.kernel import METRICS, Access, Code, NewAttachment, Refusal
from carrel.kernel.limits import ATTACHMENTS_MAX, MCP_ARGUMENTS_BYTES_MAX
from carrel.kernel.settings import McpServerSettings
from carrel.records import call_of, finish_call, record_call
from carrel.storage import Database, Tx
from carrel.tools.artifacts import add_part, known_artifacts
from carrel.tools.catalog import CATALOG
from carrel.tools.invocation import FATE_UNKNOWN, LOOK_FIRST, bounded, call_tool, failed
from carrel.tools.model import Caller, FreeParams, Params, Result, Tool, ToolServices, encoded_function
from carrel.tools.toolset import Catalog, Toolset, names_in, require_offered_now
from carrel.work import Actor

# What a model can look at; other files are artifacts only.
_IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")


class ConnectedTool(Tool, frozen=True, kw_only=True):
    """A tool of a server. It is offered like ours; `begin_remote` and `end_remote` call it."""

    remote: RemoteTool

    def schema(self) -> dict[str, Any]:
        return self.remote.schema

    def function(self, actor: Actor) -> msgspec.Raw:
        return encoded_function(self.remote.offered_as, self.remote.description, self.remote.schema)

    def read_params(self, arguments: str, called: str = "") -> Params:
        if len(arguments) > MCP_ARGUMENTS_BYTES_MAX:
            message = f"{self.name}: the arguments have more than {MCP_ARGUMENTS_BYTES_MAX} bytes."
            raise Refusal(Code.TOO_LARGE, message)
        return FreeParams.read(arguments, self.name)


class BegunCall(Struct, frozen=True, kw_only=True):
    """A call that was recorded and is about to be made."""

    tool: ConnectedTool
    arguments: dict[str, Any]
    account_slug: str

    async def make(self, services: ToolServices) -> CallResult | CallFailed:
        """Make the call; its failure is a result too."""
        assert services.connectors is not None, "a tool of a server is offered only where there are servers"
        try:
            return await services.connectors.call(self.account_slug, self.tool.remote, self.arguments)
        except CallFailed as failure:
            return failure


def connectors_of(servers: Mapping[str, McpServerSettings]) -> Connectors:
    """Return the servers in the settings; none of their tools can have a name of ours."""
    return Connectors(servers, taken=names_in(CATALOG))


def connected_tool(toolset: Toolset, name: str) -> bool:
    """Return whether a toolset offers a tool of a server under that name."""
    try:
        return isinstance(toolset.find(name), ConnectedTool)
    except Refusal:
        return False


async def catalog_for(
    db: Database, services: ToolServices, access: Access, agent_id: str,
    aside: Callable[[], AbstractContextManager[None]],
) -> Catalog:  # fmt: skip
    """Return every tool that an agent's runs may have, starting its servers; the wait for them is inside `aside`."""
    connectors = services.connectors
    if connectors is None or not connectors.is_configured:
        return CATALOG

    def read(tx: Tx) -> tuple[str, tuple[str, ...]]:
        agent = agent_by_id(tx, access, agent_id)
        return account_of(tx, access).slug, () if agent is None else agent.profile.mcp

    slug, names = await db.read(read)
    if not names:
        return CATALOG
    lists = connectors.known_tools(slug, names)
    if lists is None:
        with aside():
            lists = await connectors.tools(slug, names)
    return catalog_with(lists)


def known_catalog(services: ToolServices, account_slug: str, agent: Agent) -> Catalog:
    """Return every tool that the runs of an agent may have, of servers that were asked already."""
    connectors = services.connectors
    return CATALOG if connectors is None else catalog_with(connectors.last_tools(account_slug, agent.profile.mcp))


# Most runs of an agent get the same lists as the run before.
@lru_cache(maxsize=64)
def catalog_with(lists: tuple[ToolList, ...]) -> Catalog:
    return CATALOG.with_tools(tuple(_connected(tool) for one in lists for tool in one.tools)) if lists else CATALOG


def begin_remote(
    tx: Tx, toolset: Toolset, caller: Caller, call_id: str, name: str, arguments: str
) -> BegunCall | tuple[str, Result]:  # fmt: skip
    """Record a call before it is made; or return its result if it was made, lost or is refused."""
    if call_of(tx, caller.access, caller.own_run.id, call_id) is not None:
        return call_tool(tx, toolset, caller, call_id, name, arguments)
    try:
        tool = toolset.find(name)
        params = tool.read_params(arguments)
        require_offered_now(tx, caller, tool)
    except Refusal:
        # It is refused again later, and recorded.
        return call_tool(tx, toolset, caller, call_id, name, arguments)
    assert isinstance(tool, ConnectedTool), "a tool of ours is called at once"
    assert isinstance(params, FreeParams), "what such a tool reads"
    record_call(tx, caller.access, caller.own_run.id, call_id, tool=name, effect=tool.effect, result="")
    return BegunCall(tool=tool, arguments=params.values, account_slug=account_of(tx, caller.access).slug)


def end_remote(
    tx: Tx, caller: Caller, call_id: str, begun: BegunCall, made: CallResult | CallFailed
) -> tuple[str, Result]:  # fmt: skip
    """Record the outcome of a call; files are kept as artifacts of the run, and images are shown to the model."""
    images: tuple[NewAttachment, ...] = ()
    if isinstance(made, CallFailed):
        value = _failure(begun.tool, made)
    else:
        named = [_keep(tx, caller, file) for file in made.files]
        value = made.value | ({"files": named} if named else {})
        images = tuple(file for file in made.files if file.mime_type in _IMAGES)[:ATTACHMENTS_MAX]
    text = bounded(value)
    finish_call(tx, caller.access, caller.own_run.id, call_id, text)
    status = "refused" if value.get("ok") is False else "ok"
    METRICS.count("tools.called.count", caller.access.account_id, tool="mcp", status=status)
    return text, Result(value=value, files=images)


def _failure(tool: ConnectedTool, failure: CallFailed) -> dict[str, Any]:
    message = f"The MCP server {tool.remote.server}: {failure.message}"
    if failure.is_unknown and tool.effect == "write":
        return failed(FATE_UNKNOWN, f"{message} {LOOK_FIRST}")
    return failed("tool_unavailable", message)


def _keep(tx: Tx, caller: Caller, file: NewAttachment) -> dict[str, Any]:
    """Keep a file as an artifact and return what the model is told about it."""
    told = {"name": file.name, "mimeType": file.mime_type, "bytes": len(file.content)}
    content = msgspec.json.decode(msgspec.json.encode(file.content), type=str)
    try:
        known_artifacts(tx, caller, len(content))
    except Refusal as refusal:
        return told | {"leftOut": refusal.message}
    artifact_id = tx.new_id("art")
    add_part(
        tx, caller, artifact_id, kind="bytes", content=content, name=file.name, media_type=file.mime_type,
        filename=file.name,
    )  # fmt: skip
    return told | {"artifactId": artifact_id}


def _connected(remote: RemoteTool) -> ConnectedTool:
    return ConnectedTool(
        name=remote.offered_as,
        does=f"use {remote.name} of the MCP server {remote.server}",
        server=remote.server,
        description=remote.description,
        effect=remote.effect,
        params=FreeParams,
        act=_never,
        only_in_run=True,
        remote=remote,
    )


def _never(_tx: Tx, _caller: Caller, _params: Any) -> Result:
    raise AssertionError("a tool of a server has no effect in our transaction")
