"""The classifier: its progress, where a session's messages went, and requests to run it now."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel import board
from carrel.delivery import default_model
from carrel.kernel import PEOPLE, Access, Input, Shape, iso
from carrel.kernel.fields import AnySession, Id
from carrel.kernel.limits import CLASSIFIER_ENTRIES_AT_A_TIME, LOG_ROWS_MAX, ROUTE_ANCHOR_CHARS_MAX
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import clamp
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, endpoint

Anchor = Annotated[str, Meta(max_length=ROUTE_ANCHOR_CHARS_MAX)]
Entries = Annotated[int, Meta(ge=1, le=CLASSIFIER_ENTRIES_AT_A_TIME)]


class ClassifierStatus(Shape, frozen=True, kw_only=True):
    """How many entries wait, for how long, when some were last sorted, and by whom."""

    pending: int
    oldest_pending_seconds: float | None
    last_cycle_at: str | None
    mode: Literal["model", "rules", "off"]


class PendingQuery(Input, frozen=True, kw_only=True):
    """How many to list."""

    limit: int | None = None


class RoutingQuery(Input, frozen=True, kw_only=True):
    """Whose routing memory."""

    session_key: AnySession


class RoutingBody(RoutingQuery, frozen=True, kw_only=True):
    """Where messages of a session belong; `anchor` is what was said."""

    topic_id: Id
    task_id: Id | None = None
    anchor: Anchor = ""


class RouteShape(board.RouteFields, frozen=True, kw_only=True):
    """One place that messages of a session went to."""

    ts: str


class RoutingShown(Shape, frozen=True, kw_only=True):
    """The routing memory of a session, newest last."""

    session_key: str
    items: list[RouteShape]


class TurnBody(Input, frozen=True, kw_only=True):
    """How many entries to begin with at most."""

    limit: Entries | None = None


class ReplayBody(Input, frozen=True, kw_only=True):
    """What to sort again: the bundle of an entry, or its session from that entry on."""

    anchor_log_id: Id
    mode: Literal["bundle", "from_here"] = "bundle"


class DigestsBody(Input, frozen=True, kw_only=True):
    """Whose digest to renew; without either, all that are not up to date."""

    topic_id: Id | None = None
    task_id: Id | None = None


@endpoint("GET", "/api/classifier/status")
def show_status(call: Call[None, NoQuery], tx: Tx, access: Access) -> ClassifierStatus:
    """Get the progress of the classifier."""
    mode = board.sorted_by(call.services.settings.classifier, default_model(tx, access, call.services.connections))
    return ClassifierStatus.of(board.backlog(tx, access), mode=mode)


@endpoint("GET", "/api/classifier/pending", "logs")
def list_pending(call: Call[None, PendingQuery], tx: LongTx, access: Access) -> list[board.LogShape]:
    """List the entries that are not sorted yet, newest first."""
    limit = clamp(call.query.limit, CLASSIFIER_ENTRIES_AT_A_TIME, LOG_ROWS_MAX)
    return board.log_shapes(
        tx, access, board.list_entries(tx, access, board.LogFilter(classification="pending"), limit=limit)
    )


@endpoint("GET", "/api/classifier/session-routing")
def show_routing(call: Call[None, RoutingQuery], tx: Tx, access: Access) -> RoutingShown:
    """Get where the messages of a session went."""
    return _routing(tx, access, call.query.session_key)


@endpoint("POST", "/api/classifier/session-routing", who=PEOPLE)
def send_routing(call: Call[RoutingBody, NoQuery], tx: Tx, access: Access) -> RoutingShown:
    """Say where messages of a session belong; the next short message goes there."""
    body = call.body
    board.add_route(tx, access, body.session_key, body.topic_id, body.task_id, body.anchor)
    return _routing(tx, access, body.session_key)


def _routing(tx: Tx, access: Access, session_key: str) -> RoutingShown:
    named, found = board.visible_routes(tx, access, session_key)
    return RoutingShown(session_key=named, items=[RouteShape.of(route, ts=iso(route.at) or "") for route in found])


@endpoint("POST", "/api/classifier/run", "cycleId", status=202, who=OWNER)
def run_classifier(call: Call[TurnBody, NoQuery], tx: Tx, access: Access) -> str:
    """Sort what is pending now."""
    return board.ask_for_turn(tx, access, call.services.settings.classifier, call.body.limit)


@endpoint("POST", "/api/classifier/replay", "cycleId", status=202, who=OWNER)
def replay(call: Call[ReplayBody, NoQuery], tx: Tx, access: Access) -> str:
    """Sort an entry again, with its bundle or with all that follows it in its session."""
    return board.sort_again(tx, access, call.services.settings.classifier, call.body.anchor_log_id, call.body.mode)


@endpoint("POST", "/api/digests/run", "cycleId", status=202, who=OWNER)
def run_digests(call: Call[DigestsBody, NoQuery], tx: Tx, access: Access) -> str:
    """Renew digests now, however old they are."""
    return board.ask_for_digests(tx, access, call.services.settings.classifier, call.body.topic_id, call.body.task_id)
