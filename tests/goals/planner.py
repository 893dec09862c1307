"""A planner: a desk whose person has goals and plans in a session, with verbs for what is done with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from carrel.goals import (
    Goal,
    GoalChange,
    Plan,
    PlannedTask,
    approve_plan,
    change_goal,
    draft_plan,
    find_goal,
    find_plan,
    make_goal,
    plan_duty,
    set_plan,
)
from carrel.kernel import SessionKey
from carrel.runs import Claim, Completed, Outcome
from carrel.sessions import Session
from carrel.work import Task, tasks_planned
from tests.harness.engine import open_engine
from tests.work.desk import Desk

CHAT = SessionKey.of("writer", "web:chat-0001")
OTHER_CHAT = SessionKey.of("writer", "web:chat-0002")


class Planner(Desk):
    """A desk with verbs for goals and plans of the session `CHAT`."""

    async def goal(self, name: str = "Ship it", key: SessionKey = CHAT, **more: Any) -> Goal:
        """Create a goal."""
        return await self.db.write(lambda tx: make_goal(tx, self.access, key, name=name, **more))

    async def plan(self, *tasks: str, goal: Goal | None = None, key: SessionKey = CHAT, **more: Any) -> Plan:
        """Create a plan that is ready. A task is its title; `c<a,b` is a task c that depends on a and b of the list."""
        names = [task.partition("<")[0] for task in tasks]
        planned = tuple(
            PlannedTask(title=name, dependencies=tuple(f"task-{names.index(other)}" for other in _needs(task)))
            for name, task in zip(names, tasks, strict=True)
        )

        def work(tx: Any) -> Plan:
            plan = draft_plan(tx, self.access, key, title="The plan", goal=goal, **more)
            return set_plan(tx, self.access, plan.id, markdown="# The plan", tasks=planned)

        return await self.db.write(work)

    async def approve(self, plan: Plan) -> Plan:
        """Approve a plan."""
        return await self.db.write(lambda tx: approve_plan(tx, self.access, plan.id, self.rules))

    async def change(self, goal: Goal, **changes: Any) -> Goal:
        """Change a goal."""
        return await self.db.write(lambda tx: change_goal(tx, self.access, goal.id, GoalChange(**changes), self.rules))

    async def follow(self) -> int:
        """Let the duty follow plans until nothing is noted any more; return in how many steps."""
        duty, steps = plan_duty(self.db, self.rules), 0
        while due := await self.read(lambda tx: duty.take(tx, 100)):
            for item in due:
                await duty.do(item)
            steps += len(due)
            assert steps < 100, "following plans comes to no end"
        return steps

    async def tasks(self, plan: Plan) -> dict[str, Task]:
        """Return the tasks of a plan by their titles."""
        found = await self.read(lambda tx: tasks_planned(tx, self.access, plan_id=plan.id))
        return {task.title: task for task in found}

    async def statuses(self, plan: Plan) -> dict[str, str]:
        """Return the statuses of a plan's tasks by their titles."""
        return {title: task.status for title, task in (await self.tasks(plan)).items()}

    async def state(self, plan: Plan) -> str:
        """Return the status of a plan."""
        return (await self.read(lambda tx: find_plan(tx, self.access, plan.id))).status

    async def goal_state(self, goal: Goal) -> str:
        """Return the status of a goal."""
        return (await self.read(lambda tx: find_goal(tx, self.access, goal.id))).status

    async def claimed(self) -> dict[str, Claim]:
        """Claim and hear everything that is due; return the claims by the titles of their tasks."""
        found = {}
        for held in await self.take(100):
            assert isinstance(await self.admit(held), Session)
            assert held.task_id is not None
            found[(await self.task(held.task_id)).title] = held
        return found

    async def say_done(self, *working: Claim) -> None:
        """Let the agents of runs say that their tasks are done, as they do with task_status."""
        for held in working:
            assert held.task_id is not None
            await self.move(await self.task(held.task_id), "done", access=self.agent(held.agent_id, held))

    async def finish(self, held: Claim, outcome: Outcome | None = None) -> None:
        """End a run a second later, let that be handled and the plans be followed.

        Without an outcome its agent says first that the task is done.
        """
        self.advance(1)
        if outcome is None:
            await self.say_done(held)
        await self.end(held, outcome or Completed(reply="done"))
        await self.handle_ends()
        await self.follow()


def _needs(task: str) -> list[str]:
    return [name for name in task.partition("<")[2].split(",") if name]


@asynccontextmanager
async def open_planner(url: str) -> AsyncIterator[Planner]:
    """A planner on the store at `url`, on a clock that stands still."""
    async with open_engine(url) as engine:
        planner = Planner(engine.db, engine.clock, engine.access, engine.rules)
        await planner.prepare()
        yield planner
