"""sessions_spawn: a task for a sub-agent in a lane of its own. The call returns before the child starts."""

import asyncio
from logging import getLogger
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.agents import Agent
from carrel.exchanges import begin_exchange
from carrel.kernel import Access, Envelope, Provenance, Refusal, SessionKey, uuid_for
from carrel.kernel.settings import Settings
from carrel.runs import Run, deliver
from carrel.sessions import NewChild, delete_lane, insert_child, lane_of, make_lane
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, NoChannelThread, Preparation, Result, Shown, Tool
from carrel.tools.sessions.channel_threads import ChannelThread, bind_channel_thread, open_channel_thread
from carrel.tools.sessions.send import new_exchange
from carrel.tools.sessions.shapes import Spawned
from carrel.tools.sessions.spawn_files import WrongFiles, checked_files, without_content
from carrel.tools.sessions.spawn_rules import Declined, Granted, SessionsSpawn, check_model, judge
from carrel.workspaces import CannotPlace, PlacedFiles, Workspace, place_files, remove_folder, workspace_in

_log = getLogger("carrel.tools")
_NOTE = (
    "The sub-agent works on its own. Its result comes to this session as a message once it has ended; "
    "do not ask for it meanwhile."
)


class _PreparedSpawn(Struct, frozen=True, kw_only=True):
    """A spawn with everything that was gathered and written before its transaction."""

    params: SessionsSpawn
    name: str
    placed: PlacedFiles | None = None
    thread: ChannelThread | None = None
    declined: Declined | None = None


def workspace_of(settings: Settings, account: Access, agent: Agent) -> Workspace:
    """Return where an agent's children find their files: in its account's folder, as its profile says or by its id."""
    base = Path(settings.agents.workspaces_dir or settings.storage.data_dir / "workspaces").expanduser()
    wanted, attachments = agent.profile.workspace or agent.id, settings.tools.sessions_spawn.attachments.dir
    return workspace_in(base, account.account_id, wanted, attachments=attachments)


async def _prepare(db: Database, caller: Caller, params: SessionsSpawn) -> Preparation:
    """Check the model, write the files and open the thread of an allowed spawn."""
    granted, fresh_id = await db.read(lambda tx: (judge(tx, caller, params), tx.new_id("sub")))
    prepared = _PreparedSpawn(params=params, name=uuid_for(fresh_id, caller.access.account_id))
    if isinstance(granted, Declined):
        return Preparation(params=structs.replace(prepared, declined=granted))
    declined = await check_model(caller, granted.agent, params.model) if params.model else None
    if declined is not None:
        return Preparation(params=structs.replace(prepared, declined=declined))
    if not params.attachments:
        return Preparation(params=await _with_thread(db, caller, prepared))
    try:
        workspace = workspace_of(caller.services.settings, caller.access, granted.agent)
        placed = await asyncio.to_thread(_place, caller, workspace, prepared)
    except (WrongFiles, CannotPlace, Refusal) as error:
        return Preparation(params=structs.replace(prepared, declined=_unplaced(error)))
    key = _key(granted.agent, prepared.name)

    async def clean_up() -> None:
        if await db.read(lambda tx: lane_of(tx, caller.access, key)) is None:
            await asyncio.to_thread(remove_folder, workspace, prepared.name)

    prepared = await _with_thread(db, caller, structs.replace(prepared, placed=placed))
    return Preparation(params=prepared, clean_up=clean_up)


async def _with_thread(db: Database, caller: Caller, prepared: _PreparedSpawn) -> _PreparedSpawn:
    """Open the requested thread; this comes last, because people see it at once."""
    params = prepared.params
    if not params.bound:
        return prepared
    try:
        thread = await open_channel_thread(db, caller, params.label or params.task)
    except NoChannelThread as none:
        return structs.replace(prepared, declined=Declined("error", str(none), "thread_unsupported"))
    return structs.replace(prepared, thread=thread)


def _place(caller: Caller, workspace: Workspace, prepared: _PreparedSpawn) -> PlacedFiles:
    settings = caller.services.settings.tools.sessions_spawn.attachments
    return place_files(workspace, prepared.name, checked_files(prepared.params.attachments, settings))


def _unplaced(error: WrongFiles | CannotPlace | Refusal) -> Declined:
    if not isinstance(error, CannotPlace):
        return Declined("error", error.message, str(error.code))
    _log.warning("attachments_unplaced", extra={"error": str(error)})
    return Declined("error", "The files could not be written to the sub-agent's workspace.")


def _key(agent: Agent, name: str) -> SessionKey:
    return SessionKey.of(agent.id, f"subagent:{name}")


def _spawn(tx: Tx, caller: Caller, prepared: _PreparedSpawn) -> Result:
    params = prepared.params
    if prepared.declined is not None:
        return _declined(params, prepared.declined)
    # This locks the caller's lane, so that another call of the same lane cannot exceed the limits checked next.
    make_lane(tx, caller.account_access, caller.key)
    granted = judge(tx, caller, params)
    if isinstance(granted, Declined):
        return _declined(params, granted)
    try:
        run = _deliver(tx, caller, prepared, granted)
    except Refusal as refusal:
        # Without a message there should be no lane either.
        delete_lane(tx, caller.access, str(_key(granted.agent, prepared.name)))
        return _declined(params, Declined("forbidden", refusal.message, str(refusal.code)))
    _begin(tx, caller, params, run)
    if prepared.thread is not None:
        bind_channel_thread(tx, caller.account_access, prepared.thread, run)
    value = {
        "status": "accepted",
        "runId": run.id,
        "childSessionKey": run.key,
        "mode": params.shown_mode,
        "note": _NOTE,
    }
    files = {} if prepared.placed is None else {"attachments": msgspec.to_builtins(prepared.placed.receipt)}
    return Result(value=value | files)


def _deliver(tx: Tx, caller: Caller, prepared: _PreparedSpawn, granted: Granted) -> Run:
    params, access, key = prepared.params, caller.account_access, _key(granted.agent, prepared.name)
    child = NewChild(
        key=key,
        spawned_by=caller.key,
        sandboxed=granted.sandboxed,
        label=params.label,
        model=params.model,
        thinking_level=params.thinking,
        files=msgspec.json.encode(prepared.placed).decode() if prepared.placed is not None else None,
    )
    insert_child(tx, access, child)
    channel = caller.run.channel if caller.run is not None else caller.key.channel or "api"
    provenance = Provenance(
        kind="spawn", source_session_key=str(caller.key), source_channel=channel, source_tool="sessions_spawn"
    )  # fmt: skip
    seconds = _timeout_seconds(caller, params)
    envelope = Envelope.internal(
        key,
        params.task,
        provenance,
        timeout_seconds=seconds,
        unlimited=seconds == 0,
        parent_run_id=caller.run.id if caller.run is not None else None,
        label=params.label,
    )
    return deliver(tx, access, envelope, caller.services.rules)


def _timeout_seconds(caller: Caller, params: SessionsSpawn) -> int:
    """Return how long the child may work; 0 means no limit."""
    own, defaults = caller.agent.profile.subagents, caller.services.settings.agents.defaults.subagents
    given = (params.run_timeout_seconds, own.run_timeout_seconds, defaults.run_timeout_seconds)
    return next(seconds for seconds in given if seconds is not None)


def _begin(tx: Tx, caller: Caller, params: SessionsSpawn, run: Run) -> None:
    """Begin the exchange that brings the result back, in the transaction that creates the child."""
    # A session in a thread continues after its first result.
    cleanup = "keep" if params.shown_mode == "session" else params.cleanup
    # A person looks for the result; an agent must be woken, or it would never continue.
    wakes = int(not caller.access.is_person)
    begin_exchange(tx, caller.access, new_exchange(tx, caller, run, "spawn", cleanup=cleanup, wakes=wakes))


def _declined(params: SessionsSpawn, declined: Declined) -> Result:
    value: dict[str, Any] = {"status": declined.status, "mode": params.shown_mode, "error": declined.error}
    return Result(value=value | ({"code": declined.code} if declined.code is not None else {}))


SPAWN_TOOLS = (
    Tool("sessions_spawn", "give work to a sub-agent",
         "Give work to a sub-agent in a session of its own. Returns at once; the result comes here when it has ended.",
         "write", SessionsSpawn, _spawn, Spawned, prepare=_prepare,
         shown=Shown(without=("attachAs", "cleanup", "label", "mode", "runTimeoutSeconds", "sandbox", "thinking")),
         storable=lambda arguments: without_content(arguments, SessionsSpawn.__struct_encode_fields__)),
)  # fmt: skip
