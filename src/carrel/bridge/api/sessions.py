"""Operations on sessions: list, read, reset, rename, archive and delete them."""

from carrel.bridge.api.operations import Call, D, Group, operation
from carrel.bridge.api.requests import Request, segment
from carrel.bridge.api.shapes import History, Item, Page, Reset, Restored, Session, read, read_page


class Sessions(Group[D]):
    """The sessions that the token may see; each is named by its key, or by the id of a generation."""

    @operation
    def list(
        self, *, q: str | None = None, agent_id: str | None = None, task_id: str | None = None,
        channel: str | None = None, state: str | None = None, archived: bool = False,
        pinned: bool = False, limit: int = 50, cursor: str | None = None,
    ) -> Call[Page[Session]]:  # fmt: skip
        """Return sessions, the most recently used first; `q` is searched in keys and names."""
        query: Item = {"q": q, "agentId": agent_id, "taskId": task_id, "channel": channel, "state": state}
        query |= {"archived": archived, "pinned": pinned, "limit": limit, "cursor": cursor}
        return read_page(Session, (yield Request("GET", "/api/sessions", query)), "sessions")

    @operation
    def get(self, key: str) -> Call[Session]:
        """Return a session: the generation that is named, else the open one, else the newest."""
        return read(Session, (yield Request("GET", _path(key)))["session"])

    @operation
    def history(
        self, key: str, *, limit: int = 200, include_tools: bool = False, cursor: str | None = None
    ) -> Call[History]:  # fmt: skip
        """Return the newest messages of a session, oldest first."""
        query = {"limit": limit, "includeTools": include_tools, "cursor": cursor}
        return read(History, (yield Request("GET", _path(key, "history"), query)))

    @operation
    def reset(self, key: str) -> Call[Reset]:
        """Close the open generation; the next message opens the next one."""
        return read(Reset, (yield Request("POST", _path(key, "reset"), body={})))

    @operation
    def rename(self, key: str, title: str | None) -> Call[Session]:
        """Give a session a name; None brings back its automatic title."""
        return read(Session, (yield Request("PATCH", _path(key), body={"title": title}))["session"])

    @operation
    def archive(self, key: str) -> Call[Session]:
        """Archive a session."""
        return read(Session, (yield Request("POST", _path(key, "archive"), body={}))["session"])

    @operation
    def unarchive(self, key: str) -> Call[Restored]:
        """Bring an archived session back; `reopened` is False if its conversation was closed for good."""
        answer = yield Request("POST", _path(key, "unarchive"), body={})
        return read(Restored, answer["session"] | {"reopened": answer["reopened"]})

    @operation
    def delete(self, key: str) -> Call[None]:
        """Delete a session with its transcript."""
        yield Request("DELETE", _path(key))


def _path(key: str, *rest: str) -> str:
    return "/".join(["/api/sessions", segment(key), *rest])
