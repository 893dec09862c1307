"""Runs: start, read, wait for, answer, cancel and retry them, and see what their agents were shown."""

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.delivery import Comparison, Receipt, compare_receipts, receipt_of, replay
from carrel.exchanges import redeliver
from carrel.kernel import AT_WORK, PEOPLE, Access, Code, Envelope, Input, Message, Provenance, Refusal, Shape, invalid
from carrel.kernel.fields import Name, ShortText, Text
from carrel.kernel.limits import RUN_TIMEOUT_SECONDS_MAX, STOP_SECONDS_MAX, WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX
from carrel.loops import allow_loop
from carrel.monitoring import RunFilter, WaitsFor, Why, explain, runs_newest_first, visible_run
from carrel.runs import Run, advance, answer, cancel, deliver, reads_to_enter, retry
from carrel.sessions import find_session, lane_for_work
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.agents import agent_id_of
from carrel.surfaces.api.cursors import PageQuery, clamp, paged_by_id
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.api.shapes import QueuedRun, RunShape, Waited, run_shape, run_shapes, waited
from carrel.work import tasks_planned

TaskId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]
State = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]


class NewRun(Input, frozen=True, kw_only=True):
    """A message to an agent: in a session, for a Task, or in the agent's main lane."""

    message: Text
    agent_id: Name | None = None
    session_key: Reference | None = None
    task_id: TaskId | None = None
    timeout_seconds: Annotated[int, Meta(ge=0, le=RUN_TIMEOUT_SECONDS_MAX)] = 0
    # Whether it joins the session's running run at its next step.
    steer: bool = False


class Accepted(QueuedRun, frozen=True, kw_only=True):
    """The message is stored and its run is queued; `steers` names the run that it joins at the next step, if any."""

    status: Literal["accepted"]
    steers: str | UnsetType = UNSET


class Steering(Input, frozen=True, kw_only=True):
    """A message for a run that is at work."""

    message: Text


class RunsQuery(PageQuery, frozen=True, kw_only=True):
    """Which runs to list."""

    session_key: Reference | None = None
    agent_id: Name | None = None
    task_id: Name | None = None
    goal_id: Name | None = None
    auto_run_id: Name | None = None
    state: State | None = None
    waiting_for: WaitsFor | None = None
    provenance: Name | None = None


class WaitQuery(Input, frozen=True, kw_only=True):
    """How long to wait."""

    timeout_seconds: int | None = None


class Answered(Input, frozen=True, kw_only=True):
    """The answer to a waiting run. A tool call is decided by `approve`, or by a text that says yes or no."""

    text: Text | None = None
    approve: bool | None = None


class Retried(Shape, frozen=True, kw_only=True):
    """The new run, and the failed run it retries."""

    run_id: str
    retried_from: str


class Replayed(QueuedRun, frozen=True, kw_only=True):
    """The new run, the run whose step it sends again, and the lane of its own that it is in."""

    replayed_from: str


class ReceiptQuery(Input, frozen=True, kw_only=True):
    """Whether to include the exact text of every request."""

    body: bool = False


class CompareQuery(Input, frozen=True, kw_only=True, rename={"other": "with"}):
    """The run to compare with."""

    other: Name


class NewReplay(Input, frozen=True, kw_only=True):
    """Which step to ask once more, the last one by default, and of which model."""

    gateway: Name | None = None
    model: ShortText | None = None
    step: Annotated[int, Meta(ge=1)] | None = None


@endpoint("POST", "/api/runs", status=202, who=PEOPLE, creates=True, tool="sessions_send", new_work=True)
def start_run(call: Call[NewRun, NoQuery], tx: Tx, access: Access) -> Accepted:
    """Send a message to an agent; it is stored before this returns, and its run starts when the lane is free."""
    new = call.body
    if new.agent_id is not None and new.session_key is not None:
        raise invalid("agentId", "Send agentId or sessionKey, not both: a session belongs to one agent.")
    task_scoped = call.services.settings.sessions.task_scoped
    key = lane_for_work(
        tx, access, agent=new.agent_id, reference=new.session_key, task_id=new.task_id, task_scoped=task_scoped,
        ahead=partial(reads_to_enter, tx, access),
    )  # fmt: skip
    message = Message(text=new.message, provenance=Provenance.of_person(access))
    envelope = Envelope(
        key=key, message=message, task_id=new.task_id, timeout_seconds=new.timeout_seconds,
        steers=AT_WORK if new.steer else None,
    )  # fmt: skip
    return _accepted(deliver(tx, access, envelope, call.services.rules))


def _accepted(run: Run) -> Accepted:
    return Accepted(run_id=run.id, status="accepted", session_key=run.key, steers=run.steers or UNSET)


@endpoint("POST", "/api/runs/{id}/steer", status=202, who=PEOPLE, creates=True, new_work=True)
def steer_run(call: Call[Steering, NoQuery], tx: Tx, access: Access) -> Accepted:
    """Send a message into a run that is at work: it is heard at the next step, or afterwards if the run ends first."""
    run = visible_run(tx, access, call.path("id"))
    message = Message(text=call.body.message, provenance=Provenance.of_person(access))
    envelope = Envelope(key=run.session_key, message=message, steers=run.id)
    return _accepted(deliver(tx, access, envelope, call.services.rules))


@endpoint("GET", "/api/runs", "runs")
def list_runs(call: Call[None, RunsQuery], tx: Tx, access: Access) -> Page[RunShape]:
    """List the runs that the caller may see, newest first."""
    query = call.query
    key = None if query.session_key is None else find_session(tx, access, query.session_key).key
    tasks = None if query.goal_id is None else tasks_planned(tx, access, goal_id=query.goal_id)
    wanted = RunFilter(
        key=str(key) if key else None,
        agent_id=agent_id_of(tx, access, query.agent_id),
        task_id=query.task_id,
        auto_run_id=query.auto_run_id,
        state=query.state,
        waits_for=query.waiting_for,
        provenance_kind=query.provenance,
        task_ids=None if tasks is None else tuple(task.id for task in tasks),
    )
    page = paged_by_id(query, lambda before, most: runs_newest_first(tx, access, wanted, before=before, limit=most))
    return page.shown(partial(run_shapes, tx, access))


@endpoint("GET", "/api/runs/{id}", "run")
def read_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> RunShape:
    """Get a run."""
    return run_shape(tx, access, visible_run(tx, access, call.path("id")))


@endpoint("GET", "/api/runs/{id}/wait")
async def wait_for_run(call: Call[None, WaitQuery]) -> Waited:
    """Wait until a run has ended or is waiting, at most for the given time."""
    seconds = clamp(call.query.timeout_seconds, WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX, 0)
    return waited(await call.services.wait_for_run(call.access, call.path("id"), seconds, visible_run))


@endpoint("POST", "/api/runs/{id}/cancel", "run", who=PEOPLE)
async def cancel_run(call: Call[None, NoQuery]) -> RunShape:
    """Cancel a run; a running one gets a few seconds to stop."""

    def work(tx: Tx, access: Access) -> Run:
        run = visible_run(tx, access, call.path("id"))
        cancelled = cancel(tx, access, run.id, "user_cancelled")
        if cancelled is None:
            raise Refusal(Code.ALREADY_ENDED, "This run has already ended.")
        return cancelled

    run = await call.write(work)
    if not run.ended:
        await call.services.wait_for_run(call.access, run.id, STOP_SECONDS_MAX)
    return await call.read(lambda tx, access: run_shape(tx, access, visible_run(tx, access, run.id)))


@endpoint("POST", "/api/runs/{id}/advance", "run", who=PEOPLE)
def advance_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> RunShape:
    """Move a queued run one place up in the queue of its session."""
    return run_shape(tx, access, advance(tx, access, visible_run(tx, access, call.path("id")).id))


@endpoint("POST", "/api/runs/{id}/answer", "run", status=202, who=PEOPLE, new_work=True)
def answer_run(call: Call[Answered, NoQuery], tx: Tx, access: Access) -> RunShape:
    """Answer a waiting run; it continues in its lane."""
    run = visible_run(tx, access, call.path("id"))
    text, approved = run.read_answer(call.body.text, call.body.approve)
    message = Message(text=text, provenance=Provenance.of_person(access))
    return run_shape(tx, access, answer(tx, access, run.id, message, approved=approved))


@endpoint("GET", "/api/runs/{id}/why")
def why_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> Why:
    """Explain why a run is in its state, and what can be done about it."""
    return explain(tx, access, visible_run(tx, access, call.path("id")), call.services.concurrency)


@endpoint("POST", "/api/runs/{id}/allow", "run", who=PEOPLE, new_work=True)
def allow_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> RunShape:
    """Resume a run that is held because its session does nothing new; what it did before no longer counts."""
    return run_shape(tx, access, allow_loop(tx, access, visible_run(tx, access, call.path("id"))))


@endpoint("POST", "/api/runs/{id}/retry", status=202, who=PEOPLE, creates=True, new_work=True)
def retry_run(call: Call[None, NoQuery], tx: Tx, access: Access) -> Retried:
    """Send a failed run's message again, as a new run in the same lane."""
    failed = visible_run(tx, access, call.path("id"))
    again = retry(tx, access, failed, call.services.rules)
    return Retried(run_id=again.id, retried_from=failed.id)


@endpoint("POST", "/api/runs/{id}/announce", "run", status=202, who=PEOPLE, new_work=True)
def announce_again(call: Call[None, NoQuery], tx: Tx, access: Access) -> RunShape:
    """Try again to deliver a result that could not be delivered."""
    run = visible_run(tx, access, call.path("id"))
    redeliver(tx, access, run)
    return run_shape(tx, access, run)


@endpoint("GET", "/api/runs/{id}/receipt")
def read_receipt(call: Call[None, ReceiptQuery], tx: LongTx, access: Access) -> Receipt:
    """Get exactly what the agent was shown, step by step."""
    return receipt_of(tx, access, visible_run(tx, access, call.path("id")), with_body=call.query.body)


@endpoint("POST", "/api/runs/{id}/replay", status=202, who=PEOPLE, creates=True, new_work=True)
def replay_run(call: Call[NewReplay, NoQuery], tx: Tx, access: Access) -> Replayed:
    """Send a step of a run again in a new run, to another model if wanted; no tool takes effect."""
    run, wanted, services = visible_run(tx, access, call.path("id")), call.body, call.services
    again = replay(
        tx, access, run, services.connections, services.rules,
        gateway=wanted.gateway, model=wanted.model, step=wanted.step,
    )  # fmt: skip
    return Replayed(run_id=again.id, replayed_from=run.id, session_key=again.key)


@endpoint("GET", "/api/runs/{id}/receipt/compare")
def compare_with(call: Call[None, CompareQuery], tx: LongTx, access: Access) -> Comparison:
    """Compare what two runs were shown."""
    one, other = (visible_run(tx, access, run_id) for run_id in (call.path("id"), call.query.other))
    return compare_receipts(tx, access, one, other)
