"""Changing sessions: create, rename, message, fork, reset, stop, archive and delete them."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, structs

from carrel import sessions
from carrel.chats import chosen_key, fresh_key, move_pointer, shared_key
from carrel.commands import fork
from carrel.kernel import AT_WORK, PEOPLE, Access, Envelope, Input, Message, Provenance, Shape, invalid
from carrel.kernel.fields import Id, NewConversationKey, ShortText, Text
from carrel.kernel.limits import CLIENT_ID_CHARS_MAX, WAIT_SECONDS_MAX
from carrel.runs import deliver, remove_lane_when_stopped, stop_lane
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import Call, NoQuery, Reply, endpoint
from carrel.surfaces.api.sessions.shapes import SessionShape, session_shape
from carrel.surfaces.api.shapes import Waited, waited

Channel = Literal["web", "telegram", "cli"]
ClientId = Annotated[str, Meta(max_length=CLIENT_ID_CHARS_MAX)]


class NewSession(Input, frozen=True, kw_only=True):
    """A new session."""

    agent_id: ShortText | None = None
    channel_type: Channel = "web"
    conversation_key: NewConversationKey | None = None
    client_instance_id: ClientId | None = None
    display_name: ShortText | None = None


class SessionNamed(Shape, frozen=True, kw_only=True):
    """A session by its id and its key."""

    session_id: str
    session_key: str


class SessionPatch(sessions.LaneOptions, frozen=True, kw_only=True):
    """Changes of a session; null inherits, fields left out stay as they are.

    `title` is another name for `displayName`: it renames the session, and null brings back its automatic title.
    """

    title: ShortText | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET


class SessionMessage(Input, frozen=True, kw_only=True):
    """A message to a session, and how long to wait for the reply."""

    message: Text
    timeout_seconds: int = 0
    # Whether it joins the session's running run at its next step.
    steer: bool = False


class NewFork(Input, frozen=True, kw_only=True):
    """The last entry that the new chat starts with, the newest by default, and what it is called."""

    entry_id: Id | None = None
    display_name: ShortText | None = None


class ResetSession(Shape, frozen=True, kw_only=True):
    """The generation that was closed, and the number of the next one."""

    closed_session_id: str | None
    next_generation: int


class RestoredSession(Shape, frozen=True, kw_only=True):
    """A session that was brought back, and whether the generation that was archived is open again."""

    session: SessionShape
    reopened: bool


@endpoint("POST", "/api/sessions", who=PEOPLE, creates=True)
def make_session(call: Call[NewSession, NoQuery], tx: Tx, access: Access) -> SessionNamed:
    """Create a chat with an agent; it becomes the active session of a client that names itself."""
    new, settings = call.body, call.services.settings.sessions
    if new.conversation_key is None:
        key = fresh_key(tx, access, new.channel_type, new.agent_id)
    else:
        key = chosen_key(tx, access, new.channel_type, new.conversation_key, new.agent_id)
    key = shared_key(settings, key)
    lane = sessions.make_lane(tx, access, key)
    if new.display_name is not None:
        sessions.change_lane(tx, access, key, sessions.LaneChange(display_name=new.display_name))
    if new.client_instance_id:
        move_pointer(tx, access, new.channel_type, new.client_instance_id, lane, "created")
    return SessionNamed(session_id=key.conversation, session_key=str(key))


@endpoint("PATCH", "/api/sessions/{key}", "session", who=PEOPLE)
def patch_session(call: Call[SessionPatch, NoQuery], tx: Tx, access: Access) -> SessionShape:
    """Change a session."""
    lane, session = sessions.find_lane(tx, access, call.path("key"))
    changed = sessions.change_lane(tx, access, lane.session_key, _change(call.body, lane, tx.now))
    return session_shape(tx, access, changed, session)


def _change(patch: SessionPatch, lane: sessions.Lane, now: int) -> sessions.LaneChange:
    given = structs.asdict(patch)
    title, pinned = given.pop("title"), given.pop("pinned")
    if title is not UNSET:
        if patch.display_name not in (UNSET, title):
            raise invalid("title", "Send title or displayName, not both: they are the same.")
        given["display_name"] = title
    if pinned is not UNSET:
        given["pinned_at"] = (lane.pinned_at or now) if pinned else None
    return sessions.LaneChange(**given)


@endpoint(
    "POST",
    "/api/sessions/{key}/send",
    status=202,
    also=200,
    who=PEOPLE,
    creates=True,
    new_work=True,
    tool="sessions_send",
)
async def send_to_session(call: Call[SessionMessage, NoQuery]) -> Reply[Waited]:
    """Send a message to a session; with timeoutSeconds, wait that long for the reply."""
    body = call.body

    def work(tx: Tx, access: Access) -> Waited:
        key = sessions.find_session(tx, access, call.path("key")).key
        message = Message(text=body.message, provenance=Provenance.of_person(access))
        envelope = Envelope(key=key, message=message, channel="api", steers=AT_WORK if body.steer else None)
        run = deliver(tx, access, envelope, call.services.rules)
        accepted = Waited(run_id=run.id, status="accepted", session_key=run.key)
        call.promise(tx, Reply(202, accepted))
        return accepted

    accepted = await call.write(work)
    seconds = clamp(body.timeout_seconds, 0, WAIT_SECONDS_MAX, 0)
    if not seconds:
        return Reply(202, accepted)
    run = await call.services.wait_for_run(call.access, accepted.run_id, seconds)
    return Reply(200, waited(run, with_key=True))


@endpoint("POST", "/api/sessions/{key}/fork", who=PEOPLE, creates=True)
def fork_session(call: Call[NewFork, NoQuery], tx: Tx, access: Access) -> SessionNamed:
    """Make a private chat with the same agent that starts with what the caller may read, at most up to an entry."""
    lane = fork(tx, access, call.path("key"), call.body.entry_id, call.body.display_name)
    return SessionNamed(session_id=lane.conversation, session_key=lane.key)


@endpoint("POST", "/api/sessions/{key}/reset", who=PEOPLE)
def reset_session(call: Call[None, NoQuery], tx: Tx, access: Access) -> ResetSession:
    """Close the open generation; the next message opens a new one."""
    lane, _ = sessions.find_lane(tx, access, call.path("key"))
    closed = sessions.close_generation(tx, access, lane.session_key, "reset")
    return ResetSession(closed_session_id=closed.id if closed else None, next_generation=lane.generation + 1)


@endpoint("POST", "/api/sessions/{key}/stop", "cancelledRuns", who=PEOPLE)
def stop_session(call: Call[None, NoQuery], tx: Tx, access: Access) -> list[str]:
    """Cancel all runs of a session and of the sessions spawned from it."""
    lane, _ = sessions.find_lane(tx, access, call.path("key"))
    return stop_lane(tx, access, lane.key, "stopped")


@endpoint("POST", "/api/sessions/{key}/archive", "session", who=PEOPLE)
def archive_session(call: Call[None, NoQuery], tx: Tx, access: Access) -> SessionShape:
    """Archive a session and close its generation; its transcript is kept."""
    lane, _ = sessions.find_lane(tx, access, call.path("key"))
    sessions.set_archived(tx, access, lane.session_key, archived=True)
    return session_shape(tx, access, *sessions.find_lane(tx, access, lane.key))


@endpoint("POST", "/api/sessions/{key}/unarchive", who=PEOPLE)
def unarchive_session(call: Call[None, NoQuery], tx: Tx, access: Access) -> RestoredSession:
    """Bring back an archived session; it goes on in the same generation, unless that one is closed for good."""
    lane, _ = sessions.find_lane(tx, access, call.path("key"))
    reopened = sessions.set_archived(tx, access, lane.session_key, archived=False)
    shape = session_shape(tx, access, *sessions.find_lane(tx, access, lane.key))
    return RestoredSession(session=shape, reopened=reopened is not None)


@endpoint("DELETE", "/api/sessions/{key}", who=PEOPLE)
async def delete_session(call: Call[None, NoQuery]) -> None:
    """Cancel a session's runs and delete it with its transcript; clients where it was active get another one."""
    lane, _ = await call.read(lambda tx, access: sessions.find_lane(tx, access, call.path("key")))
    await remove_lane_when_stopped(call.services.db, call.services.watch, call.access, lane)
