"""Search over the board, and rebuilding its index."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.kernel import invalid
from carrel.kernel.limits import CLIENT_ID_CHARS_MAX
from carrel.search import SubjectKind, request_rebuild
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Out, endpoint

Kind = Literal["topic", "task", "log", "all"]
_SUBJECTS: dict[Kind, SubjectKind | None] = {"topic": "topic", "task": "task", "log": "entry", "all": None}


class ReindexBody(In, frozen=True, kw_only=True):
    """What to index anew: everything, all of a kind, or one topic, task or entry with what belongs to it."""

    kind: Kind
    id: Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)] | None = None


class Reindexing(Out, frozen=True, kw_only=True):
    """What is being indexed anew; `index` in `GET /api/health` tells when that is done."""

    kind: Kind
    id: str | None


@endpoint("POST", "/api/reindex", answers={202: Reindexing}, who=OWNER, body=ReindexBody, tag="search")
async def reindex(call: Call[ReindexBody, NoQuery]) -> Reindexing:
    """Rebuild the search index, or a part of it, while it goes on answering."""
    kind, name = call.body.kind, call.body.id
    if kind == "all" and name is not None:
        raise invalid("id", "id must be left out when everything is indexed anew.")
    await call.write(lambda tx, access: request_rebuild(tx, access, _SUBJECTS[kind], name))
    return Reindexing(kind=kind, id=name)
