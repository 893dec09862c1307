"""The context of a session, as its next run would be shown it."""

from typing import Annotated

from msgspec import Meta, structs

from carrel.context import (
    Context,
    ContextLimits,
    ContextRequest,
    ContextShape,
    Form,
    context_shape,
    depth_named,
    key_named,
)
from carrel.delivery import as_shown, foreseen
from carrel.journal import clean
from carrel.kernel import Access, Input, limits
from carrel.kernel.fields import AnySession
from carrel.kernel.settings import Recall
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import Call, endpoint
from carrel.surfaces.api.scope import SpaceNames, names_in
from carrel.tools import context_reader

# Comma-separated idempotency keys.
EntryKeys = Annotated[str, Meta(max_length=(limits.IDEMPOTENCY_KEY_CHARS_MAX + 1) * limits.CONTEXT_LINES_MAX)]


class ContextQuery(Input, frozen=True, kw_only=True):
    """The session, question, spaces and size of the context; numbers out of range are clamped."""

    q: str = ""
    # The form that programs for Clawboard expect, or exactly what a run of the session would be shown.
    form: Form = "clawboard"
    session_key: AnySession | None = None
    space_id: Annotated[str, Meta(max_length=limits.CLIENT_ID_CHARS_MAX)] | None = None
    allowed_space_ids: SpaceNames | None = None
    mode: str | None = None
    include_pending: bool = True
    # Build it as if this were chosen for the session. For people only: they could search for the same.
    recall: Recall | None = None
    # By default as many as a run is shown in that form.
    max_chars: int | None = None
    working_set_limit: int = limits.CONTEXT_LINES_DEFAULT
    timeline_limit: int = limits.CONTEXT_LINES_DEFAULT
    topic_limit: int | None = None
    task_limit: int | None = None
    log_limit: int | None = None
    # Entries that the caller has just sent for this question.
    without_keys: EntryKeys | None = None


@endpoint("GET", "/api/context", tool="clawboard_context")
async def show_context(call: Call[None, ContextQuery]) -> ContextShape:
    """Get the context block of a session, with every line explained."""
    query = call.query
    question = clean(query.q)[: limits.CONTEXT_QUERY_CHARS_MAX].strip()

    def asked(tx: Tx, access: Access) -> tuple[Access, ContextRequest] | None:
        key = key_named(tx, access, query.session_key) if query.session_key else None
        if key is not None and query.form == "run":
            return foreseen(tx, call.services.tool_services, access, key, question)
        reader = None if key is None else context_reader(tx, access, key)
        named, mode = query.session_key or None, depth_named(query.mode)
        return access, ContextRequest(
            reference=named, key=key, question=question, mode=mode, form=query.form, reader=reader
        )

    looking = await call.read(asked)
    if looking is None:
        return context_shape(Context(), session_key=query.session_key, question=question)
    access, request = looking
    request = structs.replace(
        request,
        mode=request.mode if query.mode is None else depth_named(query.mode),
        limits=_limits(query, request.limits.max_chars),
        space_id=query.space_id or None,
        allowed_space_ids=names_in("allowedSpaceIds", query.allowed_space_ids) or None,
        with_pending=query.include_pending,
        recall=query.recall if call.access.is_person else None,
        without_keys=names_in("withoutKeys", query.without_keys, limits.CONTEXT_LINES_MAX),
    )
    found = await call.services.contexts.build(access, request)
    if query.form == "run":
        found = as_shown(found)
    return context_shape(found, session_key=query.session_key, question=question)


def _limits(query: ContextQuery, usual_chars: int) -> ContextLimits:
    return ContextLimits(
        max_chars=clamp(query.max_chars, usual_chars, limits.CONTEXT_TEXT_CHARS_MAX),
        working_set=_lines(query.working_set_limit),
        timeline=_lines(query.timeline_limit),
        topics=None if query.topic_limit is None else _lines(query.topic_limit),
        tasks=None if query.task_limit is None else _lines(query.task_limit),
        logs=None if query.log_limit is None else _lines(query.log_limit),
    )


def _lines(requested: int) -> int:
    return clamp(requested, most=limits.CONTEXT_LINES_MAX, least=0)
