"""Things as people name them: by id, by the beginning of one, as a table shows it, or as `last`."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from carrel.bridge import Client, Refused
from carrel.kernel import Refusal
from carrel.main.cli.command import Exit, Failure, option

_ELLIPSIS = "…"
_PAGES_MAX = 5
_HOW_TO_CREATE = " To create one: `carrel tasks create TITLE`"
MAIN = "main"
T = TypeVar("T")


class Listing(NamedTuple):
    """Where the ids of one kind of things are listed, newest first."""

    words: str
    # What every id begins with, which people may leave out.
    prefix: str
    path: str
    field: str
    query: dict[str, Any]
    name_of_id: str = "id"
    hint: str = ""

    def of(self, client: Client, name: str, act: Callable[[str], T]) -> T:
        """Call `act` with the id of what was named; look up only a name that is not an id."""
        if name == "last":
            return act(self._newest(client))
        try:
            return act(name)
        except Refused as fault:
            found = self._completed(client, name) if fault.code == "not_found" else None
            if found is None:
                raise
        return act(found)

    def _newest(self, client: Client) -> str:
        newest = client.get(self.path, {**self.query, "limit": 1})[self.field]
        if not newest:
            raise Failure(Exit.FAILED, f"There are no {self.words} yet.{self.hint}")
        return str(newest[0][self.name_of_id])

    def _completed(self, client: Client, name: str) -> str | None:
        """Return the id that begins with a name, searched from the newest; None if there is none."""
        query, found = dict(self.query), set[str]()
        for _ in range(_PAGES_MAX):
            page = client.get(self.path, query)
            ids = [str(one[self.name_of_id]) for one in page[self.field]]
            found |= {one for one in ids if one.startswith((name, self.prefix + name))}
            query["cursor"] = page.get("nextCursor")
            if found or not query["cursor"]:
                break
        return _only(found, name, self.words)


RUNS = Listing("runs", "run_", "/api/runs", "runs", {"limit": 200})
TASKS = Listing("tasks", "task_", "/api/tasks", "tasks", {"limit": 500, "includeArchived": True}, hint=_HOW_TO_CREATE)
TOPICS = Listing("topics", "topic_", "/api/topics", "topics", {"limit": 500})
TOKENS = Listing("tokens", "tok_", "/api/tokens", "tokens", {"limit": 200})
NOTIFICATIONS = Listing("notifications", "ntf_", "/api/notifications", "notifications", {"limit": 200})
WEBHOOK_DELIVERIES = Listing("deliveries", "whd_", "/api/hooks/in/deliveries", "deliveries", {"limit": 200})
NOTES = Listing("notes", "ent_", "/api/notes", "logs", {"limit": 200})
# These are listed for each session; a cut id means one of the main session.
SCHEDULES = Listing("schedules", "sch_", "/api/schedules", "schedules", {"sessionId": MAIN, "limit": 200})
GOALS = Listing("goals", "goal_", "/api/goals", "goals", {"sessionId": MAIN, "limit": 200})
MEMORY = Listing("memories", "mem_", "/api/memory", "items", {"sessionId": MAIN, "limit": 200})
AUTO_RUNS = Listing("auto runs", "auto_", "/api/auto/runs", "runs", {"sessionId": MAIN, "includeEnded": "1"}, "runId")


def exactly(_: Client, name: str, act: Callable[[str], T]) -> T:
    """Call `act` with exactly this id."""
    return act(name)


def of_agent(client: Client, name: str, act: Callable[[str], T]) -> T:
    """Call `act` with the id of an agent; an unknown one is reported with the closest match."""
    try:
        return act(name)
    except Refused as fault:
        if fault.code != "not_found":
            raise
        agents = [str(agent["id"]) for agent in client.get("/api/agents")["agents"]]
        if name in agents:
            raise
    raise _unknown("agent", name, Refusal.nearest(name, agents), "`carrel agents` lists them.")


def user_named(client: Client, name: str) -> dict[str, Any]:
    """Return the user with this id or slug."""
    users: list[dict[str, Any]] = client.get("/api/users")["users"]
    for user in users:
        if name in (user["id"], user["slug"]):
            return user
    raise _unknown("user", name, Refusal.nearest(name, [user["slug"] for user in users]), "`carrel users` lists them.")


def of_user(client: Client, name: str, act: Callable[[str], T]) -> T:
    """Call `act` with the id of a user."""
    return act(user_named(client, name)["id"])


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
            meant = Refusal.nearest(_rest(name), keys)
            raise _unknown("session", name, keys.get(meant, ""), "`carrel sessions` lists them.") from fault
        if found is None:
            raise
    return act(found)


def is_cut(name: str) -> bool:
    """Return whether a table has cut a session key."""
    return _ELLIPSIS in name


def session_key(client: Client, name: str) -> str:
    """Return the whole key for a name that a table has cut; any other name is returned as it is."""
    if not is_cut(name):
        return name
    found = _session(client, name)
    if found is None:
        raise _unknown("session", name, "", "`carrel sessions` lists them.")
    return found


def _session(client: Client, name: str) -> str | None:
    """Return the key of the session, archived or not, that a cut name means, if there is one."""
    start, _, end = name.partition(_ELLIPSIS)
    keys = _keys(client, end or start)
    return _only({key for key in keys if key.startswith(start) and key.endswith(end)}, name, "sessions")


def _keys(client: Client, q: str) -> list[str]:
    pages = [client.sessions.list(q=q, archived=put_away, limit=200) for put_away in (False, True)]
    return [session.session_key for page in pages for session in page]


def _rest(key: str) -> str:
    return key.split(":", 2)[-1]


def _unknown(word: str, name: str, meant: str, where: str) -> Failure:
    hint = f"did you mean {meant}?" if meant else where
    return Failure(Exit.FAILED, f"There is no {word} '{name}', or you may not see it; {hint}", code="not_found")


def _only(found: set[str], name: str, words: str) -> str | None:
    if len(found) > 1:
        some = ", ".join(sorted(found)[:5])
        raise Failure(Exit.USAGE, f"'{name}' is the beginning of {len(found)} {words} ({some}); write more of it.")
    return next(iter(found), None)


RUN = option("run_id", "RUN", "id of the run, a unique beginning of it, or `last`", of=RUNS.of)
SESSION = option("key", "SESSION", "session key or id, or the beginning of one", of=of_session)
IN_SESSION = option("--session", "SESSION", "session key (default: main)", default=MAIN, field="sessionId")
LIMIT = option("--limit", "N", type=int, default=50)
YES = option("--yes -y", action="store_true", help="without being asked")


def is_elsewhere(args: Namespace) -> bool:
    """Return whether more than the main session is shown; only ids of that one can be completed."""
    return args.session != MAIN or any(getattr(args, name, None) for name in ("goal", "task", "scope"))
