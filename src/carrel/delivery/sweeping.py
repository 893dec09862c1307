"""Sweeping: removes files of sub-agents that nobody wants any more, and those that were written in vain.

What is wanted no more was written down in the transaction that decided so. What a server wrote before it died, and no
lane came to own, is found by looking through the workspaces: its name tells that this account made it.
"""

import asyncio
from functools import partial
from logging import getLogger

import msgspec

from carrel.access import every_account
from carrel.kernel import MS_PER_MINUTE, Access, SessionKey, is_uuid_of, system_access
from carrel.kernel.limits import STRAY_FOLDER_MINUTES, SWEEP_SECONDS, SWEPT_AT_A_TIME
from carrel.kernel.settings import Settings
from carrel.sessions import Agent, every_agent, forget_leftover, lane_of, leftovers_of
from carrel.storage import LEFTOVERS, Database, Tx
from carrel.tools import workspace_of
from carrel.workspaces import Placed, Workspace, held_folders, remove_folder

_log = getLogger("carrel.delivery")
_placed = msgspec.json.Decoder(Placed).decode


class Sweeping:
    """Sweeps up after the sub-agents of one store; several servers may do so side by side."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self._settings = settings

    async def serve(self) -> None:
        """Sweep until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._serve_leftovers())
            group.create_task(self._serve_strays())

    async def _serve_leftovers(self) -> None:
        bell = self._db.bell(LEFTOVERS)
        while True:
            version = bell.version
            try:
                while await self.sweep_leftovers():
                    pass
            except Exception:  # boundary: what could not be swept up now is found again at the next look
                _log.warning("sweep_failed", exc_info=True)
            await bell.wait(version, SWEEP_SECONDS)

    async def _serve_strays(self) -> None:
        while True:
            try:
                await self.sweep_strays()
            except Exception:  # boundary: what could not be swept up now is found again at the next look
                _log.warning("sweep_failed", exc_info=True)
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep_leftovers(self) -> int:
        """Remove a handful of what is wanted no more; how much that was."""
        found = await self._db.read(_leftovers)
        for access, leftover_id, files in found:
            placed = _placed(files)
            await asyncio.to_thread(_remove, placed.workspace, placed.folder)
            await self._db.write(partial(forget_leftover, access=access, leftover_id=leftover_id))
        return len(found)

    async def sweep_strays(self) -> int:
        """Remove what was written for a spawn that never came to be; how much that was."""
        removed = 0
        for access, agent in await self._db.read(_agents):
            workspace = workspace_of(self._settings, access, agent)
            held = await asyncio.to_thread(held_folders, workspace)
            strays = await self._db.read(partial(_strays, access=access, agent=agent, held=held)) if held else []
            for folder in strays:
                await asyncio.to_thread(_remove, workspace, folder)
            removed += len(strays)
        return removed


def _leftovers(tx: Tx) -> list[tuple[Access, str, str]]:
    accounts = [system_access(account.id, account.slug) for account in every_account(tx)]
    return [(access, *row) for access in accounts for row in leftovers_of(tx, access, limit=SWEPT_AT_A_TIME)]


def _agents(tx: Tx) -> list[tuple[Access, Agent]]:
    accounts = [system_access(account.id, account.slug) for account in every_account(tx)]
    return [(access, agent) for access in accounts for agent in every_agent(tx, access)]


def _strays(tx: Tx, access: Access, agent: Agent, held: list[tuple[str, int]]) -> list[str]:
    """The folders that this account made, long enough ago, and that no lane owns."""
    before = tx.now - STRAY_FOLDER_MINUTES * MS_PER_MINUTE
    ours = [name for name, changed_at in held if changed_at < before and is_uuid_of(name, access.account_id)]
    return [name for name in ours if not _is_owned(tx, access, agent, name)]


def _is_owned(tx: Tx, access: Access, agent: Agent, name: str) -> bool:
    lane = lane_of(tx, access, SessionKey.of(agent.id, f"subagent:{name}"))
    return lane is not None and lane.files is not None


def _remove(workspace: Workspace, folder: str) -> None:
    try:
        remove_folder(workspace, folder)
    except (OSError, ValueError) as error:
        # A link on the way, or rights that somebody took away: trying again would not help.
        _log.warning("files_left", extra={"error": str(error)})
