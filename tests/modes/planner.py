"""Sessions of one account or two in plan mode, with the verbs that tests need."""

from typing import Any

import msgspec

from carrel.goals import Plan, PlannedTask, find_plan, plans_of_session
from carrel.journal.store import events_after
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import SESSION_PLANS_SHOWN
from carrel.modes import (
    PlanState,
    approve_session_plan,
    cancel_session_plan,
    disable_plan_mode,
    enable_plan_mode,
    is_planning,
    plan_state,
    resume_session_plan,
    write_plan,
)
from carrel.runs import remove_lane
from carrel.sessions import lane_of
from tests.harness.engine import Engine

CHAT = SessionKey.of("main", "web:conversation1")
OTHER = SessionKey.of("main", "web:conversation2")
STEPS = (PlannedTask(title="Dig"), PlannedTask(title="Plant", dependencies=("task-0",)))
_CHANGES = {"approve": approve_session_plan, "cancel": cancel_session_plan, "resume": resume_session_plan}


class Planner:
    """Plan mode of one account."""

    def __init__(self, engine: Engine, access: Access | None = None) -> None:
        self.engine = engine
        self.access = access or engine.access

    async def on(self, key: SessionKey = CHAT) -> PlanState:
        """Switch plan mode on."""
        return await self.engine.db.write(lambda tx: enable_plan_mode(tx, self.access, key))

    async def off(self, key: SessionKey = CHAT) -> PlanState:
        """Switch plan mode off."""
        return await self.engine.db.write(lambda tx: disable_plan_mode(tx, self.access, key, self.engine.rules))

    async def state(self, key: SessionKey = CHAT) -> PlanState:
        """Return the state of a session."""
        return await self.engine.read(lambda tx: plan_state(tx, self.access, key))

    async def planning(self, key: SessionKey = CHAT) -> bool:
        """Whether a session is in plan mode."""
        return await self.engine.read(lambda tx: is_planning(tx, self.access, key))

    async def write(self, key: SessionKey = CHAT, markdown: str = "# A garden", **more: Any) -> Plan:
        """Write the plan of a session, with two tasks."""
        more = {"tasks": STEPS} | more
        return await self.engine.db.write(lambda tx: write_plan(tx, self.access, key, markdown=markdown, **more))

    async def change(self, how: str, plan_id: str | None = None, key: SessionKey = CHAT) -> Plan:
        """Approve, cancel or resume a plan of a session."""
        return await self.engine.db.write(lambda tx: _CHANGES[how](tx, self.access, key, plan_id, self.engine.rules))

    async def plan(self, plan_id: str) -> Plan:
        """Return a plan."""
        return await self.engine.read(lambda tx: find_plan(tx, self.access, plan_id))

    async def plans(self, key: SessionKey = CHAT) -> list[Plan]:
        """Return the plans of a session, newest first."""
        return await self.engine.read(lambda tx: plans_of_session(tx, self.access, key, limit=SESSION_PLANS_SHOWN))

    async def delete(self, key: SessionKey = CHAT) -> None:
        """Delete a session."""

        def work(tx: Any) -> None:
            lane = lane_of(tx, self.access, key)
            assert lane is not None
            assert remove_lane(tx, self.access, lane) is None

        await self.engine.db.write(work)

    async def told(self, prefix: str = "plan_mode.") -> list[tuple[str, str, Any]]:
        """Return name, session and state of every event about plan mode, oldest first."""
        events = await self.engine.read(lambda tx: events_after(tx, self.access, 0, limit=1_000))
        return [(event.name, event.key or "", msgspec.json.decode(event.body)) for event in events
                if event.name.startswith(prefix)]  # fmt: skip
