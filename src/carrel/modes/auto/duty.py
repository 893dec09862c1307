"""The duty that ticks auto runs: it delivers a tick into the session's lane when it is due, and follows it.

A server ticks the auto runs that it has leased, and renews their leases while it runs. An expired lease means that its
server is gone: whichever server finds it marks the auto run as interrupted, or takes it over if the settings say so.
"""

import asyncio
from logging import getLogger

from msgspec import structs

from carrel.kernel import MS_PER_SECOND, Refusal, limits
from carrel.kernel.settings import AutoSettings
from carrel.modes.auto import store
from carrel.modes.auto.model import AutoRun, next_tick_at
from carrel.modes.auto.registry import cancel_tick, end, hold, publish
from carrel.modes.auto.targets import give, is_taken, task_to_do, work_message
from carrel.modes.lanes import deliver_unasked
from carrel.runs import Rules, Run, run_by_id
from carrel.storage import Database, StepDuty, Tx, repeat
from carrel.work import Task

_log = getLogger("carrel.modes")
_ALL = 1 << 31
_LEASE_MS = limits.AUTO_LEASE_SECONDS * MS_PER_SECOND


class AutoTicks(StepDuty[AutoRun]):
    """Ticks the auto runs of one server."""

    def __init__(self, db: Database, rules: Rules, settings: AutoSettings, worker: str, *, started_at: int) -> None:
        super().__init__(
            db, store.AutoRunsDue(worker), self.advance, items_max=limits.AUTO_RUNS_AT_A_TIME,
            retry_seconds=limits.AUTO_BROKEN_SECONDS, wait_seconds_max=limits.AUTO_LOOK_SECONDS, name="auto_ticks",
        )  # fmt: skip
        # When the server started: older auto runs were left by another one.
        self._started_at = started_at
        self._rules = rules
        self._settings = settings
        self._worker = worker

    async def serve(self) -> None:
        """Tick until cancelled."""
        if self.db.engine == "sqlite":
            # One server owns the file, so every auto run in it was left by a server that is gone. They are interrupted
            # before the dispatcher, which starts after this duty, runs their ticks again.
            await self.db.write(self._take_over_all)
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(self.db, "auto_leases", limits.AUTO_LEASE_SECONDS / 3, self._renew))
            await super().serve()

    def advance(self, tx: Tx, item: AutoRun) -> None:
        """Follow the tick of one auto run, and deliver its next one if that is due."""
        self._give_next_task(tx, item)
        if (auto := hold(tx, item)) is None:
            return
        if auto.alive_until <= tx.now:
            auto = self._take_over(tx, auto)
        elif auto.worker is None:
            auto = self._taken(tx, auto)
        if auto is None or auto.worker != self._worker or auto.due_at is None or auto.due_at > tx.now:
            return
        if auto.tick_run_id is not None:
            # A due auto run with a tick: the tick has ended, or was deleted with its lane.
            auto = self._after_tick(tx, auto, run_by_id(tx, auto.access, auto.tick_run_id))
        if auto is not None:
            self._go_on(tx, auto)

    def _renew(self, tx: Tx) -> int:
        store.renew_leases(tx, self._worker, tx.now + _LEASE_MS)
        return 0

    def _take_over_all(self, tx: Tx) -> None:
        store.expire_leases(tx, self._started_at)
        for seen in store.auto_runs_left(tx, _ALL):
            if (auto := hold(tx, seen)) is not None:
                self._take_over(tx, auto)

    def _taken(self, tx: Tx, auto: AutoRun) -> AutoRun:
        """Lease an auto run that no server ticks."""
        taken = structs.replace(auto, worker=self._worker, alive_until=tx.now + _LEASE_MS)
        store.keep_auto_run(tx, auto.access, taken)
        return taken

    def _take_over(self, tx: Tx, auto: AutoRun) -> AutoRun | None:
        """Take over a locked auto run whose server is gone, or end it; None if it has ended."""
        if self._settings.resume_on_restart and auto.status == "active":
            return self._taken(tx, auto)
        cancel_tick(tx, auto)
        if auto.status == "stopping":
            end(tx, auto, "stopped", None)
        else:
            end(tx, auto, "interrupted", "server_restarted")
        return None

    def _give_next_task(self, tx: Tx, seen: AutoRun) -> None:
        """Assign the goal's next task to the agent: tasks are locked before their lanes."""
        task = None if seen.goal_id is None else task_to_do(tx, seen)
        if isinstance(task, Task) and task.id != seen.task_id:
            give(tx, seen.access, task, seen.session_key, self._rules)

    def _after_tick(self, tx: Tx, auto: AutoRun, tick: Run | None) -> AutoRun | None:
        """Record how a tick ended, and when the next one is due; None if that ends the auto run."""
        if auto.status == "stopping":
            end(tx, auto, "stopped", None)
            return None
        started_at = tx.now if tick is None else tick.started_at or tick.created_at
        due_at = next_tick_at(auto, tx.now, started_at, self._settings.tick_seconds)
        auto = structs.replace(auto, tick_run_id=None, due_at=due_at)
        if tick is not None and tick.state == "failed":
            end(tx, auto, "failed", "tick_failed", tick.error_message or tick.reason or "")
            return None
        return auto

    def _go_on(self, tx: Tx, auto: AutoRun) -> None:
        """Deliver the next tick of a locked auto run, or end the auto run if nothing is left to do."""
        assert auto.due_at is not None, "an auto run without a tick is due some time"
        task = task_to_do(tx, auto)
        if not isinstance(task, Task):
            end(tx, auto, "completed" if task in ("task_done", "goal_done") else "stopped", task)
            return
        due_at, auto = auto.due_at, structs.replace(auto, task_id=task.id)
        if auto.tick_count >= self._settings.max_ticks:
            end(tx, auto, "stopped", "max_ticks")
        elif due_at > tx.now:
            store.keep_auto_run(tx, auto.access, auto)
        elif task.status == "blocked" or is_taken(tx, auto, task):
            # It waits for a person or for another auto run of its goal, and is checked again after an interval.
            self._put_off(tx, auto)
        else:
            self._tick(tx, auto, task)

    def _tick(self, tx: Tx, auto: AutoRun, task: Task) -> None:
        try:
            of = {"task_id": task.id, "auto_run_id": auto.id}
            run = deliver_unasked(tx, auto.access, auto.session_key, work_message(task), "auto", self._rules, **of)
        except Refusal as refusal:
            # A lane that refuses messages now is tried again after an interval.
            _log.warning("auto_tick_refused", extra=auto.log_fields() | {"error": refusal.message})
            self._put_off(tx, auto)
            return
        count = auto.tick_count + 1
        ticked = structs.replace(auto, tick_count=count, tick_run_id=run.id, last_tick_at=tx.now, due_at=None)
        store.keep_auto_run(tx, auto.access, ticked)
        publish(tx, "auto.ticked", ticked, run.id)

    def _put_off(self, tx: Tx, auto: AutoRun) -> None:
        later = next_tick_at(auto, tx.now, tx.now, self._settings.tick_seconds)
        store.keep_auto_run(tx, auto.access, structs.replace(auto, due_at=later))
