"""Search over the board, and rebuilding its index."""

from typing import Annotated, Literal

from carrel.board import BoardQuery, SearchShape, board_search, scope_of_search, search_shape
from carrel.kernel import Access, Input, Shape, invalid
from carrel.kernel.fields import SOME_TEXT, AnySession, Id, checked
from carrel.kernel.limits import SEARCH_FOUND_DEFAULT, SEARCH_FOUND_MAX, SEARCH_QUERY_CHARS_MAX, SEARCH_SHOWN_CHARS_MAX
from carrel.search import SubjectKind, request_rebuild
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, endpoint
from carrel.surfaces.api.scope import SpaceNames, names_in

Kind = Literal["topic", "task", "log", "all"]
# The room below checks it and words the refusal.
Words = Annotated[str, checked(minLength=1, maxLength=SEARCH_QUERY_CHARS_MAX, pattern=SOME_TEXT)]
_SUBJECTS: dict[Kind, SubjectKind | None] = {"topic": "topic", "task": "task", "log": "entry", "all": None}


class SearchParameters(Input, frozen=True, kw_only=True):
    """What to look for, from which session or space, and how much; `allowedSpaceIds` has commas between the ids."""

    q: Words
    session_key: AnySession | None = None
    topic_id: Id | None = None
    space_id: Id | None = None
    allowed_space_ids: SpaceNames | None = None
    include_pending: bool = True
    limit_topics: int | None = None
    limit_tasks: int | None = None
    limit_logs: int | None = None
    limit_notes: int | None = None


class ReindexBody(Input, frozen=True, kw_only=True):
    """What to index again: everything, all of a kind, or one topic, task or entry with what belongs to it."""

    kind: Kind
    id: Id | None = None


class Reindexing(Shape, frozen=True, kw_only=True):
    """What is being indexed again; `index` in `GET /api/health` shows when that is done."""

    kind: Kind
    id: str | None


@endpoint("GET", "/api/search", tool="clawboard_search")
async def search_board(call: Call[None, SearchParameters]) -> SearchShape:
    """Search topics, tasks, entries and notes by words and by meaning, within what the caller may see."""
    asked = call.query
    session, scope = await call.read(
        lambda tx, access: scope_of_search(
            tx,
            access,
            session_key=asked.session_key,
            space_id=asked.space_id,
            allowed_ids=names_in("allowedSpaceIds", asked.allowed_space_ids) or None,
        )
    )

    def most(kind: str, limit: int | None) -> int:
        return clamp(limit, SEARCH_FOUND_DEFAULT[kind], SEARCH_FOUND_MAX[kind])

    query = BoardQuery(
        text=asked.q,
        scope=scope,
        session_key=session,
        topic_id=asked.topic_id,
        with_pending=asked.include_pending,
        topics_max=most("topic", asked.limit_topics),
        tasks_max=most("task", asked.limit_tasks),
        logs_max=most("log", asked.limit_logs),
        notes_max=most("note", asked.limit_notes),
    )
    found = await board_search(call.services.db, call.services.search, call.access, query)
    return search_shape(asked.q, scope, found, chars_max=SEARCH_SHOWN_CHARS_MAX)


@endpoint("POST", "/api/reindex", status=202, who=OWNER, tag="search")
def reindex(call: Call[ReindexBody, NoQuery], tx: Tx, access: Access) -> Reindexing:
    """Rebuild the search index, or a part of it, while it goes on answering."""
    kind, name = call.body.kind, call.body.id
    if kind == "all" and name is not None:
        raise invalid("id", "id must be left out when everything is indexed again.")
    request_rebuild(tx, access, _SUBJECTS[kind], name)
    return Reindexing(kind=kind, id=name)
