"""What a run is shown before its message: the context of its session, from the builder that everybody uses.

A caller who asks what the next run of a session would be shown gets it from the same request.
"""

from collections import Counter
from logging import getLogger

from msgspec import structs

from carrel.agents import agent_by_id
from carrel.context import AROUND_CHARS, MEMORY, Context, ContextLimits, ContextRequest, Contexts, SeenEntries
from carrel.delivery.context import NO_CONTEXT
from carrel.delivery.history import newest_within, remembered
from carrel.delivery.snapshot import Snapshot, as_agent
from carrel.goals import goal_of_task
from carrel.journal import Entry, talk_around_run
from carrel.kernel import Access, Refusal, SessionKey
from carrel.kernel.limits import EARLIER_RESULTS_PART, HISTORY_ROWS_MAX
from carrel.kernel.settings import ContextSettings, Settings
from carrel.memory import Reader, has_memories
from carrel.sessions import Lane, lane_of, open_session_of
from carrel.storage import Database, Tx
from carrel.tools import Caller, ToolServices, caller_at, context_reader, memory_reader
from carrel.work import readable_task

_log = getLogger("carrel.delivery")
_LINE_CHARS_MAX = 400


class ContextGatherer:
    """Gathers the contexts of turns."""

    def __init__(self, db: Database, contexts: Contexts, settings: ContextSettings) -> None:
        self._db = db
        self._contexts = contexts
        self._settings = settings

    async def gather(self, snapshot: Snapshot) -> Context:
        """Build the context of a run; nothing if contexts are switched off or its gateway cannot be sent one."""
        if not self._settings.augment or not snapshot.connection.gateway.takes_context or _needs_none(snapshot):
            return NO_CONTEXT
        try:
            question, reader = await self._db.read(lambda tx: (_asked(tx, snapshot), _reader(tx, snapshot)))
            settings = snapshot.caller.services.settings
            run = snapshot.run
            request = _request(settings, run.session_key, question, snapshot.earlier, of_task=run.task_id is not None)
            request = structs.replace(
                request,
                reader=reader,
                session_id=snapshot.session.id,
                shown_task_id=run.task_id,
                auto_run_id=run.auto_run_id,
            )
            found = await self._contexts.build(_seen_by(snapshot), request)
        except Refusal as refusal:
            # The message is answered even if the session may not read something.
            _log.warning("context_refused", extra={"run_id": snapshot.run.id, "error": refusal.message})
            return Context(degraded="board")
        if reader is not None:
            _log.info("memory_recalled", extra=_log_fields(snapshot, reader, found))
        return as_shown(found)


def as_shown(found: Context) -> Context:
    """Return a context as a run is shown it: empty if it has only a heading."""
    return found if found.layers else structs.replace(found, block="", omitted={})


def foreseen(
    tx: Tx, services: ToolServices, access: Access, key: SessionKey, question: str
) -> tuple[Access, ContextRequest] | None:  # fmt: skip
    """Return the context request that the caller's message to a session would lead to, and the access for it.

    None if a run is shown no context. An agent looks from its own lane: what is said in others is not for it.
    """
    lane, agent, settings = lane_of(tx, access, key), agent_by_id(tx, access, key.agent), services.settings.context
    if agent is None or not settings.augment or _is_told_enough(key, lane):
        return None
    opened = open_session_of(tx, access, str(key))
    earlier = [] if opened is None else talk_around_run(tx, access, opened.id, "", limit=HISTORY_ROWS_MAX)[0]
    reader = context_reader(tx, access, key)
    if reader is not None and not has_memories(tx, access, reader.scope_keys()):
        reader = None
    of_task = key.task_id is not None
    request = structs.replace(_request(services.settings, key, question, earlier, of_task=of_task), reader=reader)
    if not access.is_person:
        return access, request
    looking = as_agent(access, agent, spaces=access.space_ids, behalf=access.speaks_for)
    return _seen_from(looking, caller_at(tx, services, looking, agent, lane or key)), request


def _request(
    settings: Settings, key: SessionKey, question: str, earlier: list[Entry], *, of_task: bool
) -> ContextRequest:  # fmt: skip
    """Return the context request for a message to a session whose newest entries the model request holds already."""
    delivery = settings.delivery
    # The heading of a task may be as long as a message; a chat has a line with the time and the sender.
    message_chars = max(delivery.input_chars_max, len(question)) if of_task else len(question) + _LINE_CHARS_MAX
    # This much fits beside the message; older entries may have to be recalled.
    sure = newest_within(
        remembered(earlier, with_calls=True),
        delivery.history_chars_max - message_chars,
        results_max=delivery.history_chars_max // EARLIER_RESULTS_PART,
    )
    return ContextRequest(
        reference=str(key),
        key=key,
        question=question,
        mode=settings.context.mode,
        form="run",
        limits=ContextLimits(max_chars=settings.context.max_chars - AROUND_CHARS),
        shown=SeenEntries.of(sure),
    )


def _needs_none(snapshot: Snapshot) -> bool:
    """Whether a run is shown no context: a heartbeat asks whether there is something to do, not what is known."""
    is_heartbeat = snapshot.run.provenance_kind == "heartbeat"
    return is_heartbeat or _is_told_enough(snapshot.run.session_key, snapshot.lane)


def _is_told_enough(key: SessionKey, lane: Lane | None) -> bool:
    """Whether this is a sub-agent, whose requester told it what it needs; not if its recall was set."""
    return key.kind == "subagent" and (lane is None or lane.recall is None)


def _asked(tx: Tx, snapshot: Snapshot) -> str:
    """Return what a run is about: its message, or for a tick, whose message is ours, its task and goal."""
    run = snapshot.run
    if run.auto_run_id is None or run.task_id is None:
        return run.text
    task, _ = readable_task(tx, snapshot.access, run.task_id)
    goal = goal_of_task(tx, snapshot.access, run.task_id)
    of_goal = () if goal is None else (goal.name, goal.description)
    return "\n".join(filter(None, (task.title, task.description, *of_goal)))


def _seen_by(snapshot: Snapshot) -> Access:
    """Return the run's access limited to what its agent sees: sessions visible from its lane, and its spaces."""
    return _seen_from(snapshot.access, snapshot.caller)


def _seen_from(access: Access, caller: Caller) -> Access:
    return structs.replace(access, view=caller.visibility, space_ids=caller.actor.spaces)


def _reader(tx: Tx, snapshot: Snapshot) -> Reader | None:
    """Return the memory reader of a run; None if there is nothing to read."""
    reader = memory_reader(tx, snapshot.caller)
    return reader if has_memories(tx, snapshot.access, reader.scope_keys()) else None


def _log_fields(snapshot: Snapshot, reader: Reader, found: Context) -> dict[str, object]:
    """Return the log fields of a recall: for which run, and how much it is shown of each scope of its chain."""
    run, taken = snapshot.run, Counter(line.scope for line in found.lines if line.kind == MEMORY)
    goal_id = next((scope.goal_id for scope in reader.chain if scope.goal_id), None)
    return {
        "session_identity": ":".join(run.session_key.identity),
        "session_key": run.key,
        "run_id": run.id,
        "goal_id": goal_id,
        "task_id": run.task_id,
        "run_kind": "GOAL_RUN" if goal_id else "TASK_RUN" if run.task_id else None,
        "scope_chain": [str(scope) for scope in reader.chain],
        "scope_counts": {str(scope): taken[str(scope)] for scope in reader.chain},
    }
