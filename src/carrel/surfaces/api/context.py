"""The context of a session, as its next run would be shown it."""

from typing import Annotated

from msgspec import Meta

from carrel.context import ContextLimits, ContextRequest, ContextShape, context_shape, key_named, mode_named
from carrel.journal import clean
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import (
    CLIENT_ID_CHARS_MAX,
    CONTEXT_LINES_DEFAULT,
    CONTEXT_LINES_MAX,
    CONTEXT_QUERY_CHARS_MAX,
    CONTEXT_TEXT_CHARS_DEFAULT,
    CONTEXT_TEXT_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
)
from carrel.memory import Reader
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, In, endpoint
from carrel.surfaces.http.described import NO_NUL
from carrel.tools import context_reader

Lines = Annotated[int, Meta(ge=0, le=CONTEXT_LINES_MAX)]
Chars = Annotated[int, Meta(ge=1)]
# A lane, or any name that a program gives its session.
SessionName = Annotated[
    str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})
]
Name = Annotated[str, Meta(max_length=CLIENT_ID_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})]
NoNul = Annotated[str, Meta(extra_json_schema={"pattern": NO_NUL})]


class ContextQuery(In, frozen=True, kw_only=True):
    """Of which session, for which question, from which spaces, and how much."""

    q: NoNul = ""
    session_key: SessionName | None = None
    space_id: Name | None = None
    allowed_space_ids: NoNul | None = None
    mode: str | None = None
    include_pending: bool = True
    max_chars: Chars = CONTEXT_TEXT_CHARS_DEFAULT
    working_set_limit: Lines = CONTEXT_LINES_DEFAULT
    timeline_limit: Lines = CONTEXT_LINES_DEFAULT
    topic_limit: Lines | None = None
    task_limit: Lines | None = None
    log_limit: Lines | None = None


@endpoint("GET", "/api/context", answers={200: ContextShape}, query=ContextQuery)
async def show_context(call: Call[None, ContextQuery]) -> ContextShape:
    """Get the context block of a session, with every line explained."""
    query = call.query
    question = clean(query.q)[:CONTEXT_QUERY_CHARS_MAX].strip()

    def session(tx: Tx, access: Access) -> tuple[SessionKey | None, Reader | None]:
        key = key_named(tx, access, query.session_key) if query.session_key else None
        return key, None if key is None else context_reader(tx, access, key)

    key, reader = await call.read(session)
    request = ContextRequest(
        reference=query.session_key or None,
        key=key,
        question=question,
        mode=mode_named(query.mode),
        limits=_limits(query),
        space_id=query.space_id or None,
        allowed_space_ids=_csv(query.allowed_space_ids),
        with_pending=query.include_pending,
        reader=reader,
    )
    found = await call.house.contexts.build(call.access, request)
    return context_shape(found, session_key=query.session_key, question=question)


def _limits(query: ContextQuery) -> ContextLimits:
    return ContextLimits(
        max_chars=min(query.max_chars, CONTEXT_TEXT_CHARS_MAX),
        working_set=query.working_set_limit,
        timeline=query.timeline_limit,
        topics=query.topic_limit,
        tasks=query.task_limit,
        logs=query.log_limit,
    )


def _csv(text: str | None) -> tuple[str, ...] | None:
    return tuple(name for part in (text or "").split(",") if (name := part.strip())) or None
