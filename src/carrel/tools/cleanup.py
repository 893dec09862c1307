"""Cleanup: removes files of sub-agents that are no longer needed, or whose sub-agent never started.

Files to remove are recorded in the transaction that decides it. Folders that a server wrote before it crashed, and
that no lane owns, are found by scanning the workspaces: their names identify the account that wrote them.
"""

import asyncio
from contextlib import suppress
from functools import partial
from logging import getLogger

import msgspec

from carrel.access import every_account
from carrel.agents import Agent, every_agent
from carrel.kernel import MS_PER_MINUTE, Access, Refusal, SessionKey, is_uuid_of, log_trouble, system_access
from carrel.kernel.limits import STRAY_FOLDER_MINUTES, SWEEP_SECONDS, SWEPT_AT_A_TIME
from carrel.kernel.settings import Settings
from carrel.sessions import LEFTOVERS, forget_leftover, lane_of, leftovers_of
from carrel.storage import Database, Duty, Tx
from carrel.tools.sessions.spawn import workspace_of
from carrel.workspaces import PlacedFiles, Workspace, held_folders, remove_folder

_log = getLogger("carrel.delivery")
_placed = msgspec.json.Decoder(PlacedFiles).decode


Leftover = tuple[Access, str, str]


class Cleanup(Duty[Leftover]):
    """Removes the files that sub-agents left behind; several servers may do so side by side."""

    name = "cleanup"
    bell = LEFTOVERS
    items_max = SWEPT_AT_A_TIME
    wait_seconds_max = SWEEP_SECONDS

    def __init__(self, db: Database, settings: Settings) -> None:
        super().__init__(db)
        self._settings = settings

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().serve())
            group.create_task(self._serve_strays())

    async def _serve_strays(self) -> None:
        while True:
            try:
                await self.sweep_strays()
            except Exception as error:  # boundary: what could not be removed now is found again the next time
                log_trouble(_log, "strays_unread", error)
            await asyncio.sleep(SWEEP_SECONDS)

    def next_due(self, tx: Tx) -> int | None:
        """Now, if there is anything to remove."""
        return tx.now if self.take(tx, 1) else None

    def take(self, tx: Tx, limit: int) -> list[Leftover]:
        """Return folders that are no longer needed."""
        accounts = [system_access(account.id, account.slug) for account in every_account(tx)]
        return [(access, *row) for access in accounts for row in leftovers_of(tx, access, limit=limit)]

    async def do(self, item: Leftover) -> None:
        access, leftover_id, files = item
        placed = _placed(files)
        await asyncio.to_thread(_remove, placed.workspace, placed.folder)
        await self.db.write(partial(forget_leftover, access=access, leftover_id=leftover_id))

    async def sweep_strays(self) -> int:
        """Remove folders written for spawns that never happened; return how many."""
        removed = 0
        for access, workspace in await self.db.read(partial(_workspaces, settings=self._settings)):
            held = await asyncio.to_thread(held_folders, workspace)
            strays = await self.db.read(partial(_strays, access=access, held=held)) if held else []
            for folder in strays:
                await asyncio.to_thread(_remove, workspace, folder)
            removed += len(strays)
        return removed


def _workspaces(tx: Tx, settings: Settings) -> list[tuple[Access, Workspace]]:
    """Return every workspace, each once: several agents may share one."""
    found: dict[tuple[Access, Workspace], None] = {}
    for account in every_account(tx):
        access = system_access(account.id, account.slug)
        for agent in every_agent(tx, access):
            # A refused workspace is never written to, so it holds nothing of ours.
            with suppress(Refusal):
                found[access, workspace_of(settings, access, agent)] = None
    return list(found)


def _strays(tx: Tx, access: Access, held: list[tuple[str, int]]) -> list[str]:
    """Return this account's folders that are old enough and that no lane of its agents owns."""
    before = tx.now - STRAY_FOLDER_MINUTES * MS_PER_MINUTE
    ours = [name for name, changed_at in held if changed_at < before and is_uuid_of(name, access.account_id)]
    agents = every_agent(tx, access) if ours else []
    return [name for name in ours if not any(_is_owned(tx, access, agent, name) for agent in agents)]


def _is_owned(tx: Tx, access: Access, agent: Agent, name: str) -> bool:
    lane = lane_of(tx, access, SessionKey.of(agent.id, f"subagent:{name}"))
    return lane is not None and lane.files is not None


def _remove(workspace: Workspace, folder: str) -> None:
    try:
        remove_folder(workspace, folder)
    except (OSError, ValueError) as error:
        # A symbolic link on the path, or missing permissions: retrying would not help.
        _log.warning("files_left", extra={"error": str(error)})
