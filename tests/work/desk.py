"""A desk: an engine whose people and agents work on tasks, with verbs for what they do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import structs

from carrel.access import account_of, make_user
from carrel.agents import change_account, change_agent, every_agent, require_agent
from carrel.journal import Event, append_entry
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.notices import Notified, notices_of
from carrel.notifications import newest_notifications
from carrel.notifications.model import Notification
from carrel.runs import Cancelled, Claim, Completed, Failed, Rules, Run, agent_entry, bind_session, fence, run_by_id
from carrel.runs.outcomes import settle
from carrel.sessions import Session, generations_of, open_generation
from carrel.storage import Tx
from carrel.work import (
    NewTask,
    ResponseRequests,
    Task,
    admit,
    assign_task,
    create_task,
    move_task,
    post_message,
    readable_task,
    request_responses,
)
from carrel.work.moves import Moved
from carrel.work.run_ends import run_end_duty
from carrel.work.run_store import live_runs_of_task
from carrel.work.store import parties_of
from tests.harness.engine import Engine, open_engine

ORCHESTRATOR = "chief"


class Desk(Engine):
    """An engine with the agents `writer`, `critic` and `chief` beside `main`, of whom none coordinates yet."""

    async def prepare(self) -> None:
        """Act as the owner, and create the agents where they are not there from an earlier time."""
        self.access = structs.replace(self.access, kind="owner", actor_id="tok_owner", name="Olga")
        known = {agent.id for agent in await self.read(lambda tx: every_agent(tx, self.access))}
        for agent in ("writer", "critic", ORCHESTRATOR):
            if agent not in known:
                await self.make_agent(agent)

    def agent(self, agent_id: str, run: Run | Claim | None = None) -> Access:
        """Return the access of an agent, or of one of its runs."""
        kind = "agent" if run is None else "run"
        run_id = None if run is None else run.id
        return structs.replace(self.access, kind=kind, actor_id=agent_id, agent_id=agent_id, run_id=run_id, name="")

    async def person(self, slug: str) -> Access:
        """Create a user of the account; return their access."""
        user = await self.db.write(
            lambda tx: make_user(tx, self.access, name=slug.title(), slug=slug, email=None, role="member")
        )
        return structs.replace(self.access, kind="user", actor_id=user.id, name=user.name)

    async def settings(self, access: Access | None = None, **changes: Any) -> None:
        """Change the settings of the account."""
        await self.db.write(lambda tx: change_account(tx, access or self.access, None, changes))

    async def disable(self, agent_id: str) -> None:
        """Disable an agent."""

        def work(tx: Tx) -> None:
            change_agent(tx, self.access, structs.replace(require_agent(tx, self.access, agent_id), enabled=False))

        await self.db.write(work)

    async def coordinate(self) -> str:
        """Make `chief` the orchestrator; return the id of its chat."""
        await self.settings(orchestratorAgentId=ORCHESTRATOR)
        account = await self.read(lambda tx: account_of(tx, self.access))
        return str(account.settings["orchestratorChatTaskId"])

    async def create(
        self, *agents: str, title: str = "Write the report", access: Access | None = None, **more: Any
    ) -> Task:
        """Create a task that is assigned to some agents."""
        new = NewTask(title=title, assigned_agent_ids=agents, **more)
        return await self.db.write(lambda tx: create_task(tx, access or self.access, new, self.rules))

    async def task(self, task: Task | str) -> Task:
        """Return a task as it is stored now."""
        task_id = task if isinstance(task, str) else task.id
        return await self.read(lambda tx: readable_task(tx, self.access, task_id)[0])

    async def move(self, task: Task, *statuses: str, access: Access | None = None, **more: Any) -> Moved:
        """Move a task from status to status; return the last move."""
        *before, last = statuses
        for status in before:
            await self.move(task, status, access=access, **more)
        return await self.db.write(lambda tx: move_task(tx, access or self.access, task.id, last, self.rules, **more))

    async def assign(self, task: Task, *agents: str, access: Access | None = None, **more: Any) -> Task:
        """Assign agents, or with `remove` take them off."""
        return await self.db.write(
            lambda tx: assign_task(tx, access or self.access, task.id, self.rules, agent_ids=agents, **more)
        )

    async def post(self, task: Task | str, text: str, access: Access | None = None) -> list[Notified]:
        """Post to a thread; return who was notified."""
        task_id = task if isinstance(task, str) else task.id
        posted = await self.db.write(lambda tx: post_message(tx, access or self.access, task_id, text, self.rules))
        return posted.notified

    async def request(self, task: Task, *slugs: str, access: Access | None = None) -> ResponseRequests:
        """Ask agents for a response."""
        return await self.db.write(
            lambda tx: request_responses(tx, access or self.access, task.id, slugs, "What do you think?", self.rules)
        )

    async def admit(self, held: Claim) -> Session | Cancelled | Failed:
        """Hear a claimed run as a turn does; return its session, or how it ended instead."""

        def work(tx: Tx) -> Session | Cancelled | Failed:
            run = run_by_id(tx, held.access, held.id)
            assert run is not None
            refused = admit(tx, run)
            if refused is not None:
                settle(tx, held, refused)
                return refused
            session = open_generation(tx, held.access, held.session_key)
            fence(tx, held)
            bind_session(tx, held, session.id, session.generation)
            return session

        return await self.db.write(work)

    async def reply(self, held: Claim, text: str = "It is written.") -> None:
        """End a heard run with a reply in the thread."""

        def work(tx: Tx) -> None:
            run = run_by_id(tx, held.access, held.id)
            assert run is not None
            append_entry(tx, held.access, agent_entry(run, "assistant", text, task_view="thread"))
            settle(tx, held, Completed(reply=text))

        await self.db.write(work)

    async def handle_ends(self) -> int:
        """Handle every end of a run that is due; return how many there were."""
        duty = run_end_duty(self.db, self.rules)
        due = await self.read(lambda tx: duty.take(tx, 100))
        for end in due:
            await duty.do(end)
        return len(due)

    async def answer_next(self, text: str = "It is written.") -> Run:
        """Let the next run be claimed, heard and answered, and its end be handled; return it."""
        held = await self.take_one()
        heard = await self.admit(held)
        assert isinstance(heard, Session), heard
        await self.reply(held, text)
        await self.handle_ends()
        return await self.run(held.id)

    async def work_off(self) -> int:
        """Hear and end everything that waits, without a reply; return how many runs there were."""
        count = 0
        while taken := await self.take(10):
            for held in taken:
                if isinstance(await self.admit(held), Session):
                    await self.end(held)
            count += len(taken)
            await self.handle_ends()
        return count

    async def told(self, task: Task | str) -> list[tuple[str, str]]:
        """Return the agents with queued runs about a task, each with what its run tells."""
        task_id = task if isinstance(task, str) else task.id

        def look(tx: Tx) -> list[tuple[str, str]]:
            live = [run for run in live_runs_of_task(tx, self.access, task_id) if run.state == "queued"]
            notices = notices_of(tx, self.access, [run.id for run in live])
            return sorted((run.agent_id, notice.type) for run in live for notice in notices.get(run.id, []))

        return await self.read(look)

    async def mailbox(self, recipient: str = "owners") -> list[Notification]:
        """Return what is in a mailbox, oldest first."""
        found = await self.read(lambda tx: newest_notifications(tx, self.access, recipient, before=None, limit=100))
        return found[::-1]

    async def subscribers(self, task: Task) -> set[str]:
        """Return the ids of who is subscribed to a task."""
        parties = await self.read(lambda tx: parties_of(tx, self.access, task.id))
        return {party.party_id for party in parties if party.subscribed}

    async def sessions(self, task: Task, agent: str = "writer") -> list[Session]:
        """Return the generations of an agent's lane of a task, oldest first."""
        found = await self.read(lambda tx: generations_of(tx, self.access, str(lane(agent, task))))
        return sorted(found, key=lambda session: session.generation)

    async def events(self, name: str) -> list[Event]:
        """Return all events of a name."""
        columns = ", ".join(Event.__struct_fields__)
        sql = f"SELECT {columns} FROM events WHERE account_id = :account AND name = :name ORDER BY seq"
        rows = await self.read(lambda tx: tx.all(sql, self.access, name=name))
        return [Event(*row) for row in rows]

    async def refused(self, doing: Any) -> Code:
        """Return the code with which something is refused."""
        try:
            await doing
        except Refusal as refusal:
            return refusal.code
        raise AssertionError("it was not refused")


def lane(agent: str, task: Task | str) -> SessionKey:
    """Return the lane of an agent for a task."""
    return SessionKey.of(agent, f"task:{task if isinstance(task, str) else task.id}")


@asynccontextmanager
async def open_desk(url: str, *, rules: Rules | None = None, real: bool = False) -> AsyncIterator[Desk]:
    """A desk on the store at `url`, on a clock that stands still unless `real` asks for the system's."""
    async with open_engine(url, rules=rules, real=real) as engine:
        desk = Desk(engine.db, engine.clock, engine.access, engine.rules)
        await desk.prepare()
        yield desk
