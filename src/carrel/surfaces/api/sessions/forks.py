"""Forks of sessions: a private chat that starts with the transcript of another session."""

from carrel.commands import fork
from carrel.kernel import PEOPLE, Access, Input
from carrel.kernel.fields import Id, ShortText
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.sessions.changes import SessionNamed


class NewFork(Input, frozen=True, kw_only=True):
    """The last entry that the new chat starts with, the newest by default, and what it is called."""

    entry_id: Id | None = None
    display_name: ShortText | None = None


@endpoint(
    "POST", "/api/sessions/{key}/fork", answers={201: SessionNamed}, who=PEOPLE, body=NewFork, creates=True
)  # fmt: skip
def fork_session(call: Call[NewFork, NoQuery], tx: Tx, access: Access) -> SessionNamed:
    """Make a private chat with the same agent that starts with what the caller may read, at most up to an entry."""
    lane = fork(tx, access, call.path("key"), call.body.entry_id, call.body.display_name)
    return SessionNamed(session_id=lane.conversation, session_key=lane.key)
