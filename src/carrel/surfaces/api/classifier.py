"""The classifier: how far it is, where a session's messages went, and what it is to do now."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.board import (
    LogFilter,
    LogShape,
    Route,
    add_route,
    ask_for_digests,
    ask_for_turn,
    backlog,
    list_entries,
    log_shapes,
    sort_again,
    sorted_by,
    visible_routes,
)
from carrel.delivery import default_model
from carrel.kernel import PEOPLE, Access, iso
from carrel.kernel.limits import (
    CLASSIFIER_ENTRIES_AT_A_TIME,
    CLIENT_ID_CHARS_MAX,
    LOG_ROWS_MAX,
    ROUTE_ANCHOR_CHARS_MAX,
    SESSION_REFERENCE_CHARS_MAX,
)
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.http.described import NO_NUL

Name = Annotated[str, Meta(min_length=1, max_length=CLIENT_ID_CHARS_MAX)]
SessionText = Annotated[str, Meta(min_length=1, max_length=SESSION_REFERENCE_CHARS_MAX)]
Anchor = Annotated[str, Meta(max_length=ROUTE_ANCHOR_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})]
Entries = Annotated[int, Meta(ge=1, le=CLASSIFIER_ENTRIES_AT_A_TIME)]


class ClassifierStatus(Out, frozen=True, kw_only=True):
    """How many entries wait, for how long, when some were last sorted, and by whom."""

    pending: int
    oldest_pending_seconds: float | None
    last_cycle_at: str | None
    mode: Literal["model", "rules", "off"]


class PendingQuery(In, frozen=True, kw_only=True):
    """How many to list."""

    limit: int | None = None


class PendingList(Out, frozen=True, kw_only=True):
    """Entries that are not sorted yet, newest first."""

    logs: list[LogShape]


class RoutingQuery(In, frozen=True, kw_only=True):
    """Whose routing memory."""

    session_key: SessionText


class RoutingBody(In, frozen=True, kw_only=True):
    """Where messages of a session belong; `anchor` is what was said."""

    session_key: SessionText
    topic_id: Name
    task_id: Name | None = None
    anchor: Anchor = ""


class RouteShape(Out, frozen=True, kw_only=True):
    """One place that messages of a session went to."""

    ts: str
    topic_id: str
    topic_name: str
    task_id: str | None
    task_title: str | None
    anchor: str


class RoutingShown(Out, frozen=True, kw_only=True):
    """The routing memory of a session, newest last."""

    session_key: str
    items: list[RouteShape]


class TurnBody(In, frozen=True, kw_only=True):
    """How many entries to begin with at most."""

    limit: Entries | None = None


class ReplayBody(In, frozen=True, kw_only=True):
    """What to sort again: the bundle of an entry, or its session from there on."""

    anchor_log_id: Name
    mode: Literal["bundle", "from_here"] = "bundle"


class DigestsBody(In, frozen=True, kw_only=True):
    """Whose digest to renew; without either, all that are not up to date."""

    topic_id: Name | None = None
    task_id: Name | None = None


class Started(Out, frozen=True, kw_only=True):
    """The turn of the classifier that will do it."""

    cycle_id: str


@endpoint("GET", "/api/classifier/status", answers={200: ClassifierStatus})
async def show_status(call: Call[None, NoQuery]) -> ClassifierStatus:
    """Get how far the classifier is."""

    def work(tx: Tx, access: Access) -> ClassifierStatus:
        found = backlog(tx, access)
        return ClassifierStatus(
            pending=found.pending,
            oldest_pending_seconds=found.oldest_seconds,
            last_cycle_at=iso(found.last_turn_at),
            mode=sorted_by(call.house.settings.classifier, default_model(tx, access, call.house.connections)),
        )

    return await call.read(work)


@endpoint("GET", "/api/classifier/pending", answers={200: PendingList}, query=PendingQuery)
async def list_pending(call: Call[None, PendingQuery]) -> PendingList:
    """List the entries that are not sorted yet, newest first."""
    limit = clamp(call.query.limit, CLASSIFIER_ENTRIES_AT_A_TIME, LOG_ROWS_MAX)

    def work(tx: LongTx, access: Access) -> PendingList:
        found = list_entries(tx, access, LogFilter(classification="pending"), limit=limit)
        return PendingList(logs=log_shapes(tx, access, found))

    return await call.long_read(work)


@endpoint("GET", "/api/classifier/session-routing", answers={200: RoutingShown}, query=RoutingQuery)
async def show_routing(call: Call[None, RoutingQuery]) -> RoutingShown:
    """Get where the messages of a session went."""
    return await call.read(lambda tx, access: _routing(tx, access, call.query.session_key))


@endpoint("POST", "/api/classifier/session-routing", answers={200: RoutingShown}, who=PEOPLE, body=RoutingBody)
async def send_routing(call: Call[RoutingBody, NoQuery]) -> RoutingShown:
    """Say where messages of a session belong; the next short message goes there."""
    body = call.body

    def work(tx: Tx, access: Access) -> RoutingShown:
        add_route(tx, access, body.session_key, body.topic_id, body.task_id, body.anchor)
        return _routing(tx, access, body.session_key)

    return await call.write(work)


def _routing(tx: Tx, access: Access, session_key: str) -> RoutingShown:
    named, found = visible_routes(tx, access, session_key)
    return RoutingShown(session_key=named, items=[_route(route) for route in found])


def _route(route: Route) -> RouteShape:
    return RouteShape(
        ts=iso(route.at) or "",
        topic_id=route.topic_id,
        topic_name=route.topic_name,
        task_id=route.task_id,
        task_title=route.task_title,
        anchor=route.anchor,
    )


@endpoint("POST", "/api/classifier/run", answers={202: Started}, who=OWNER, body=TurnBody)
async def run_classifier(call: Call[TurnBody, NoQuery]) -> Reply:
    """Sort what is pending now."""
    settings, limit = call.house.settings.classifier, call.body.limit
    cycle_id = await call.write(lambda tx, access: ask_for_turn(tx, access, settings, limit))
    return Reply(202, Started(cycle_id=cycle_id))


@endpoint("POST", "/api/classifier/replay", answers={202: Started}, who=OWNER, body=ReplayBody)
async def replay(call: Call[ReplayBody, NoQuery]) -> Reply:
    """Sort an entry again, with its bundle or with all that follows it in its session."""
    body, settings = call.body, call.house.settings.classifier
    cycle_id = await call.write(lambda tx, access: sort_again(tx, access, settings, body.anchor_log_id, body.mode))
    return Reply(202, Started(cycle_id=cycle_id))


@endpoint("POST", "/api/digests/run", answers={202: Started}, who=OWNER, body=DigestsBody)
async def run_digests(call: Call[DigestsBody, NoQuery]) -> Reply:
    """Renew digests now, however old they are."""
    body, settings = call.body, call.house.settings.classifier
    cycle_id = await call.write(lambda tx, access: ask_for_digests(tx, access, settings, body.topic_id, body.task_id))
    return Reply(202, Started(cycle_id=cycle_id))
