"""sessions_spawn: a piece of work for a sub-agent, in a lane of its own. The call returns before the child begins."""

import asyncio
from logging import getLogger
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.agents import Agent
from carrel.exchanges import Exchange, begin_exchange
from carrel.kernel import INTERNAL_CHANNEL, Access, Envelope, Message, Provenance, Refusal, SessionKey, uuid_for
from carrel.kernel.settings import Settings
from carrel.runs import Run, deliver
from carrel.sessions import NewChild, delete_lane, insert_child, lane_of, make_lane
from carrel.storage import Database, Tx
from carrel.tools.model import Caller, NoSideRoom, Readied, Result, Tool
from carrel.tools.sessions.channel_threads import SideRoom, bind_side_room, open_side_room
from carrel.tools.sessions.shapes import Spawned
from carrel.tools.sessions.spawn_files import WrongFiles, checked_files, without_content
from carrel.tools.sessions.spawn_rules import Declined, Granted, SessionsSpawn, check_model, judge
from carrel.workspaces import CannotPlace, Placed, Workspace, place_files, remove_folder

_log = getLogger("carrel.tools")
_NOTE = (
    "The sub-agent works on its own. Its result comes to this session as a message once it has ended; "
    "do not ask for it meanwhile."
)
# Nothing that a sub-agent says goes out on a channel by itself.


class _Prepared(Struct, frozen=True, kw_only=True):
    """A spawn with everything that was found out and written for it before it acts."""

    params: SessionsSpawn
    name: str
    placed: Placed | None = None
    room: SideRoom | None = None
    declined: Declined | None = None


def workspace_of(settings: Settings, account: Access, agent: Agent) -> Workspace:
    """Where an agent's children find their files: the folder its profile names, else one of its own."""
    workspaces = settings.storage.data_dir.expanduser() / "workspaces"
    own = Path(agent.profile.workspace).expanduser() if agent.profile.workspace else None
    root = workspaces / own if own is not None else workspaces / account.account_id / agent.id
    return Workspace(root=root, attachments=settings.tools.sessions_spawn.attachments.dir)


async def _ready(db: Database, caller: Caller, params: SessionsSpawn) -> Readied:
    """Find out what only others know, and place the files, for a spawn that may be."""
    granted, fresh_id = await db.read(lambda tx: (judge(tx, caller, params), tx.new_id("sub")))
    prepared = _Prepared(params=params, name=uuid_for(fresh_id, caller.access.account_id))
    if isinstance(granted, Declined):
        return Readied(params=structs.replace(prepared, declined=granted))
    declined = await check_model(caller, granted.agent, params.model) if params.model else None
    if declined is not None:
        return Readied(params=structs.replace(prepared, declined=declined))
    if not params.attachments:
        return Readied(params=await _with_room(db, caller, prepared))
    workspace = workspace_of(caller.house.settings, caller.access, granted.agent)
    try:
        placed = await asyncio.to_thread(_place, caller, workspace, prepared)
    except (WrongFiles, CannotPlace) as error:
        return Readied(params=structs.replace(prepared, declined=_unplaced(error)))
    key = _key(granted.agent, prepared.name)

    async def settled() -> None:
        if await db.read(lambda tx: lane_of(tx, caller.access, key)) is None:
            await asyncio.to_thread(remove_folder, workspace, prepared.name)

    prepared = await _with_room(db, caller, structs.replace(prepared, placed=placed))
    return Readied(params=prepared, settled=settled)


async def _with_room(db: Database, caller: Caller, prepared: _Prepared) -> _Prepared:
    """The spawn with the thread it asked for; opened last, for people see it at once."""
    params = prepared.params
    if not params.bound:
        return prepared
    try:
        room = await open_side_room(db, caller, params.label or params.task)
    except NoSideRoom as none:
        return structs.replace(prepared, declined=Declined("error", str(none), "thread_unsupported"))
    return structs.replace(prepared, room=room)


def _place(caller: Caller, workspace: Workspace, prepared: _Prepared) -> Placed:
    settings = caller.house.settings.tools.sessions_spawn.attachments
    return place_files(workspace, prepared.name, checked_files(prepared.params.attachments, settings))


def _unplaced(error: WrongFiles | CannotPlace) -> Declined:
    if isinstance(error, WrongFiles):
        return Declined("error", error.message, error.code)
    _log.warning("attachments_unplaced", extra={"error": str(error)})
    return Declined("error", "The files could not be written to the sub-agent's workspace.")


def _key(agent: Agent, name: str) -> SessionKey:
    return SessionKey.of(agent.id, f"subagent:{name}")


def _spawn(tx: Tx, caller: Caller, prepared: _Prepared) -> Result:
    params = prepared.params
    if prepared.declined is not None:
        return _declined(params, prepared.declined)
    # The caller's lane is held from here on: what is counted now is not outrun by another call of the same lane.
    make_lane(tx, _acting(caller), caller.key)
    granted = judge(tx, caller, params)
    if isinstance(granted, Declined):
        return _declined(params, granted)
    try:
        run = _deliver(tx, caller, prepared, granted)
    except Refusal as refusal:
        # Nobody may speak there: then there is to be no such lane either.
        delete_lane(tx, caller.access, str(_key(granted.agent, prepared.name)))
        return _declined(params, Declined("forbidden", refusal.message, str(refusal.code)))
    _begin(tx, caller, params, run)
    if prepared.room is not None:
        bind_side_room(tx, _acting(caller), prepared.room, run)
    value: dict[str, Any] = {
        "status": "accepted",
        "runId": run.id,
        "childSessionKey": run.key,
        "mode": params.shown_mode,
        "note": _NOTE,
    }
    if prepared.placed is not None:
        value["attachments"] = msgspec.to_builtins(prepared.placed.receipt)
    return Result(value=value)


def _acting(caller: Caller) -> Access:
    """The house's access in the name of who asked: a child may be another agent's, and that was judged before."""
    return structs.replace(caller.access, kind="system")


def _deliver(tx: Tx, caller: Caller, prepared: _Prepared, granted: Granted) -> Run:
    params, access, key = prepared.params, _acting(caller), _key(granted.agent, prepared.name)
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
    envelope = Envelope(
        key=key,
        message=Message(text=params.task, provenance=provenance),
        channel=INTERNAL_CHANNEL,
        timeout_seconds=seconds,
        unlimited=seconds == 0,
        parent_run_id=caller.run.id if caller.run is not None else None,
        label=params.label,
    )
    return deliver(tx, access, envelope, caller.house.rules)


def _timeout_seconds(caller: Caller, params: SessionsSpawn) -> int:
    """How long the child may work; 0 as long as it takes."""
    own, defaults = caller.agent.profile.subagents, caller.house.settings.agents.defaults.subagents
    given = (params.run_timeout_seconds, own.run_timeout_seconds, defaults.run_timeout_seconds)
    return next(seconds for seconds in given if seconds is not None)


def _begin(tx: Tx, caller: Caller, params: SessionsSpawn, run: Run) -> None:
    """Remember that the result is to come back, in the transaction that makes the child."""
    exchange = Exchange(
        account_id=run.account_id,
        id=tx.new_id("exc"),
        kind="spawn",
        requester_key=str(caller.key),
        requester_session_id=caller.session.id if caller.session is not None else None,
        requester_run_id=caller.run.id if caller.run is not None else None,
        target_key=run.key,
        first_run_id=run.id,
        current_run_id=run.id,
        created_at=tx.now,
        # One that goes on in a thread is not over with its first result.
        cleanup="keep" if params.shown_mode == "session" else params.cleanup,
        # A person who spawned it looks for the result; an agent must be told, or it would never go on.
        wakes=int(not caller.access.is_person),
    )
    begin_exchange(tx, caller.access, exchange)


def _declined(params: SessionsSpawn, declined: Declined) -> Result:
    value: dict[str, Any] = {"status": declined.status, "mode": params.shown_mode, "error": declined.error}
    return Result(value=value | ({"code": declined.code} if declined.code is not None else {}))


SPAWN_TOOLS = (
    Tool(
        name="sessions_spawn",
        description=(
            "Hand a piece of work to a sub-agent in a session of its own, with files if it needs any. Returns at once; "
            "the result comes to this session when the sub-agent has ended."
        ),
        params=SessionsSpawn,
        effect="write",
        act=_spawn,
        gives=Spawned,
        ready=_ready,
        kept=lambda arguments: without_content(arguments, SessionsSpawn.__struct_encode_fields__),
    ),
)
