"""Serves the demo: something happens in it every few seconds, for an hour after each start."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from carrel.access import owner_of_default
from carrel.delivery import BUILTIN, Connection
from carrel.kernel import Access, Envelope, Message, Provenance, Refusal, SessionKey, system_chance
from carrel.main.assembly import Assembly
from carrel.main.demo import content
from carrel.main.demo.build import CONNECTION
from carrel.main.demo.gateway import DemoGateway, Say, Use
from carrel.main.gateways import Gateways
from carrel.main.server import Live, serve
from carrel.main.settings import LoadedSettings
from carrel.runs import deliver
from carrel.surfaces import Services
from carrel.work import TaskChange, TaskFilter, change_task, list_tasks

T = TypeVar("T")
_PAUSE_SECONDS = 6.0
_STEP_SECONDS = 1.5
# Limit of what happens after each start, so that a demo left open does not fill the disk.
_HAPPENINGS_MAX = 600


def serve_demo(read: Callable[[], LoadedSettings], *, open_browser: bool) -> int:
    return serve(read, role="all", open_browser=open_browser, life=_Activity().enliven)


async def _take_time(chars: int) -> None:
    """Wait for as long as a step takes, slowly enough for people to watch."""
    await asyncio.sleep(_STEP_SECONDS + chars / 400)


class _Activity:
    def __init__(self) -> None:
        self._gateway = DemoGateway(_take_time)
        self._chance = system_chance()

    def enliven(self, gateways: Gateways) -> Live:
        """Let the demo's model answer, and return what happens while the server serves."""
        gateways.connections[BUILTIN] = Connection(self._gateway, CONNECTION)
        return self._live

    async def _live(self, assembly: Assembly) -> None:
        services = assembly.services
        owner = await services.db.read(owner_of_default)
        for number in range(_HAPPENINGS_MAX):
            await asyncio.sleep(_PAUSE_SECONDS)
            try:
                await (self._move(services, owner) if number % 3 == 0 else self._talk(services, owner, number))
            except Refusal:
                # A viewer changed the same thing first; next time it will be something else.
                continue

    async def _move(self, services: Services, owner: Access) -> None:
        """Let a person finish a task that is in review, or take one up."""
        wanted = TaskFilter(status=self._pick(("review", "assigned")))
        tasks = await services.db.read(lambda tx: list_tasks(tx, owner, wanted, limit=20))
        if movable := [task for task in tasks if not task.id.startswith("demo-300")]:
            task = self._pick(movable)
            change = TaskChange(status="done" if task.status == "review" else "in_progress")
            await services.db.write(lambda tx: change_task(tx, owner, task.id, change, services.rules))

    async def _talk(self, services: Services, owner: Access, number: int) -> None:
        said, reply = self._pick(content.SAID), Say(self._pick(content.REPLIES))
        key = SessionKey.of(content.ROLES[number % len(content.ROLES)].id, "web:live-talk")
        self._gateway.cue(str(key), Use("session_status", {}), reply)
        message = Message(text=said, provenance=Provenance(kind="external_user", actor=owner.actor_id))
        envelope = Envelope(key=key, message=message, channel="web")
        await services.db.write(lambda tx: deliver(tx, owner, envelope, services.rules))

    def _pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._chance.random() * len(choices))]
