"""Sessions as people name them: by key or id, by the beginning of one, or by a key that a table has cut."""

from collections.abc import Callable
from typing import TypeVar

from carrel.bridge import Client, Refused
from carrel.kernel import Refusal
from carrel.main.cli.command import Failure, only, unknown

_ELLIPSIS = "…"
T = TypeVar("T")


def of_session(client: Client, name: str, act: Callable[[str], T]) -> T:
    """Call `act` with the key of the named session; look up only an unknown name."""
    if is_cut(name):
        return act(session_key(client, name))
    try:
        return act(name)
    except Refused as fault:
        # The beginning of a key need not look like one.
        if fault.code != "not_found" and fault.field != "sessionKey":
            raise
        found = _session(client, name)
        if found is None and fault.code == "not_found" and not name.startswith("ses_"):
            # Compared without their agents, which most keys have in common.
            keys = {_rest(key): key for key in _keys(client, "")}
            raise _unknown(name, keys.get(Refusal.nearest(_rest(name), keys), "")) from fault
        if found is None:
            raise
    return act(found)


def is_cut(name: str) -> bool:
    """Return whether a table has cut a session key."""
    return _ELLIPSIS in name


def session_key(client: Client, name: str) -> str:
    """Return the whole key for a name that a table has cut; any other name is returned as it is."""
    found = _session(client, name) if is_cut(name) else name
    if found is None:
        raise _unknown(name, "")
    return found


def _session(client: Client, name: str) -> str | None:
    """Return the key of the session, archived or not, that a cut name means, if there is one."""
    start, _, end = name.partition(_ELLIPSIS)
    found = {key for key in _keys(client, end or start) if key.startswith(start) and key.endswith(end)}
    return only(found, name, "sessions") if found else None


def _keys(client: Client, q: str) -> list[str]:
    pages = [client.sessions.list(q=q, archived=put_away, limit=200) for put_away in (False, True)]
    return [session.session_key for page in pages for session in page]


def _rest(key: str) -> str:
    return key.split(":", 2)[-1]


def _unknown(name: str, meant: str) -> Failure:
    return unknown("session", name, meant, "`carrel sessions` lists them.")
