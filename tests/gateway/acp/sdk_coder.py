"""A coding agent on the protocol's official SDK: it reads a file, asks to change it, and changes it, all through us."""

import asyncio
from typing import Any, cast

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    start_tool_call,
    text_block,
    update_agent_message,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import PermissionOption, ToolCallUpdate


class Mender:
    """Puts what it is told into `notes.txt` of its folder."""

    connection: Client

    def on_connect(self, conn: Client) -> None:
        self.connection = conn

    async def initialize(self, protocol_version: int, **more: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **more: Any) -> NewSessionResponse:
        self.folder = cwd
        return NewSessionResponse(session_id="only")

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> PromptResponse:
        client, path, call = self.connection, f"{self.folder}/notes.txt", "call_1"
        await client.session_update(session_id, update_agent_message(text_block("I write it down.")))
        await client.session_update(session_id, start_tool_call(call, "Write notes", kind="edit", status="pending"))
        options = [PermissionOption(option_id=kind, name=kind, kind=kind) for kind in ("allow_once", "reject_once")]
        wanted = ToolCallUpdate(tool_call_id=call, title="Write notes", kind="edit")
        asked = await client.request_permission(session_id=session_id, tool_call=wanted, options=options)
        if getattr(asked.outcome, "option_id", "") != "allow_once":
            return PromptResponse(stop_reason="refusal")
        await client.write_text_file(session_id=session_id, path=path, content=prompt[-1].text)
        await client.session_update(session_id, update_tool_call(call, status="completed"))
        read = await client.read_text_file(session_id=session_id, path=path)
        await client.session_update(session_id, update_agent_message(text_block(f"It says: {read.content}")))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(cast(Any, Mender())))
