"""The files of its workspace that a coding agent reads and writes through us, as far as its run allows."""

import asyncio

from acp.exceptions import RequestError

from carrel.gateway.acp.names import ACT_KINDS, EDIT, READ
from carrel.kernel.limits import ACP_FILE_BYTES_MAX
from carrel.workspaces import NotInWorkspace, Workspace, read_text, write_text


class Files:
    """The text files of a workspace; `allowed` names the acts that the agent may do now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.allowed: frozenset[str] = frozenset()

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return a file, or `limit` of its lines from `line` on (counted from 1); raise RequestError."""
        self._require(READ)
        try:
            text = await asyncio.to_thread(read_text, self._workspace, path, ACP_FILE_BYTES_MAX)
        except NotInWorkspace as fault:
            raise RequestError.invalid_params({"details": str(fault)}) from fault
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        lines = text.splitlines(keepends=True)
        return "".join(lines[first:] if limit is None else lines[first : first + max(limit, 0)])

    async def write(self, path: str, text: str) -> None:
        """Write a file; raise RequestError."""
        self._require(EDIT)
        try:
            await asyncio.to_thread(write_text, self._workspace, path, text, ACP_FILE_BYTES_MAX)
        except NotInWorkspace as fault:
            raise RequestError.invalid_params({"details": str(fault)}) from fault

    def _require(self, name: str) -> None:
        if name not in self.allowed:
            message = f"This run may not {ACT_KINDS[name].does}: its agent may not use {name}, or it is in plan mode."
            raise RequestError.invalid_request({"details": message})
