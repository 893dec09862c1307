"""The composition root: puts the store, rooms, observers, duties and routes together.

The server, the harnesses of the tests and the benchmarks all use it. A new room adds its line here and nowhere below.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

from starlette.routing import BaseRoute

from carrel import (
    __version__,
    board,
    budgets,
    exchanges,
    goals,
    heartbeats,
    inbound,
    loops,
    memory,
    modes,
    monitoring,
    outbox,
    search,
    topics,
    usage,
    work,
)
from carrel.board import BoardDocuments, Classifier, Sorter, observe_delegated_runs
from carrel.connectors import Connectors
from carrel.context import Contexts
from carrel.delivery import Connection, ContextGatherer, Extractions, Live, Turns, default_model
from carrel.exchanges import Exchanges
from carrel.inbound import Webhooks
from carrel.journal import FollowerDuty
from carrel.kernel import Chance, Clock, SystemClock
from carrel.kernel.settings import Settings
from carrel.modes import AutoTicks
from carrel.outbox import Channels, prune_posts
from carrel.records import prune_uploads
from carrel.runs import Dispatcher, Pruner, Rules, Watch
from carrel.search import Indexing, Rebuilds, Search, Similarity, embedder_for
from carrel.storage import Database, open_database
from carrel.surfaces import Configuration, Services, WrongTokens
from carrel.surfaces.a2a import PushDuty
from carrel.surfaces.a2a import describe as describe_a2a
from carrel.surfaces.a2a import routes as a2a_routes
from carrel.surfaces.agent_http import describe as describe_tools
from carrel.surfaces.agent_http import routes as agent_routes
from carrel.surfaces.api import Recorder, build_app, openapi_document
from carrel.surfaces.dashboard import missing_page
from carrel.surfaces.dashboard import routes as dashboard_routes
from carrel.surfaces.mcp import Endpoint as McpEndpoint
from carrel.surfaces.mcp import routes as mcp_routes
from carrel.surfaces.responses import describe as describe_responses
from carrel.surfaces.responses import refusal_response as refuse_responses
from carrel.surfaces.responses import routes as responses_routes
from carrel.surfaces.telegram import Telegram, channel_threads
from carrel.surfaces.telegram import routes as telegram_routes
from carrel.surfaces.webhooks import describe as describe_webhooks
from carrel.surfaces.webhooks import routes as webhook_routes
from carrel.tools import Cleanup, connectors_of
from carrel.wire import Wire

# Observers that are called inside the transaction of a run's change, in this order.
OBSERVERS: tuple[Callable[[Database], None], ...] = (
    outbox.observe_runs,
    exchanges.observe_runs,
    topics.observe_spaces,
    work.observe_runs,
    heartbeats.observe_agents,
    goals.observe_work,
    goals.observe_links,
    modes.observe_runs,
    loops.observe_runs,
    modes.observe_sessions,
    monitoring.observe_runs,
    memory.observe_sessions,
    board.observe_changes,
    search.observe_entries,
)
# What the pruner removes for rooms above it.
PRUNED = (
    prune_posts,
    prune_uploads,
    board.prune_routes,
    usage.prune_usage,
    budgets.prune_periods,
    inbound.prune_deliveries,
)
# Operations of the other surfaces in the OpenAPI document.
DESCRIBED = (*describe_a2a(), *describe_responses(), *describe_tools(), *describe_webhooks())

Duty = Callable[[], Coroutine[Any, Any, None]]


def open_store(
    url: str, *, durability: str = "full", clock: Clock | None = None, chance: Chance | None = None
) -> Database:
    """Open the store at `url` and register its observers."""
    db = open_database(url, durability=durability, clock=clock, chance=chance)
    for observe in OBSERVERS:
        observe(db)
    return db


def whole_document() -> dict[str, Any]:
    """Return the OpenAPI document of all surfaces."""
    return openapi_document(DESCRIBED)


def rules_of(settings: Settings) -> Rules:
    """Return the delivery rules that follow from the settings."""
    return Rules(
        runs=settings.runs,
        send_policy=settings.sessions.send_policy,
        a2a_timeout_minutes=settings.a2a.tasks.timeout_minutes,
        task_scoped=settings.sessions.task_scoped,
    )


class Assembly:
    """An assembled server, not yet started: its application, its dispatcher and its duties."""

    def __init__(
        self, db: Database, wire: Wire, connections: Mapping[str, Connection], settings: Settings, *,
        worker: str, works: bool, draining: Callable[[], bool], configuration: Configuration,
        connectors: Connectors | None = None, webhooks: Webhooks | None = None, more_routes: Iterable[BaseRoute] = (),
    ) -> None:  # fmt: skip
        self._embedder = embedder_for(settings.search, wire)
        finder = Search(db, self._embedder, settings.search)
        self.services = Services(
            db=db,
            search=finder,
            settings=settings,
            configuration=configuration,
            rules=rules_of(settings),
            live=Live(),
            contexts=Contexts(db, settings, finder),
            connectors=connectors or connectors_of(settings.mcp),
            webhooks=webhooks or Webhooks(settings.webhooks),
            watch=Watch(db),
            version=__version__,
            connections=connections,
            channel_threads=channel_threads(wire, settings.channels.telegram),
            works=works,
            draining=draining,
            closing=asyncio.Event(),
        )
        services = self.services
        observe_delegated_runs(db, settings.followups)
        self.wrong_tokens = WrongTokens(SystemClock())
        self._wire = wire
        self._connections = connections
        self._worker = worker
        self._started_at = SystemClock().now_ms()
        self._recorder = Recorder(db, SystemClock())
        self._mcp = McpEndpoint(services, self.wrong_tokens)
        self._telegram = Telegram(db, wire, settings.channels.telegram, services.rules)
        self._turns = Turns(
            db,
            connections,
            services.tool_services,
            services.live,
            services.watch,
            lambda: self.dispatcher.lend_slot(),
            ContextGatherer(db, services.contexts, settings.context).gather,
        )
        self.dispatcher = Dispatcher(db, self._turns.handle, settings, worker, lambda: services.concurrency)
        self.app = build_app(
            services,
            recorder=self._recorder,
            wrong=self.wrong_tokens,
            more_routes=[*self._routes(), *more_routes],
            more_operations=DESCRIBED,
            refusal_formats={"v1": refuse_responses},
            missing_page=missing_page,
        )

    @property
    def channels(self) -> Channels:
        """The channels on which replies are posted."""
        return self._telegram.channels

    def _routes(self) -> list[BaseRoute]:
        """Return the routes of every surface but the API, which adds its own."""
        services, wrong = self.services, self.wrong_tokens
        return [
            *dashboard_routes(),
            *a2a_routes(services, wrong),
            *agent_routes(services, wrong),
            *mcp_routes(services, self._mcp),
            *responses_routes(services, wrong),
            *telegram_routes(services, self._telegram.bot),
            *webhook_routes(services, wrong),
        ]

    def duties(self) -> list[Duty]:
        """Return the work of this process beside answering requests; each duty runs until it is cancelled."""
        services, db, settings = self.services, self.services.db, self.services.settings
        always: list[Duty] = [self._recorder.record, services.watch.serve, self._mcp.serve, services.connectors.serve]
        if not services.works:
            return always
        indexing = Indexing(db, BoardDocuments(), self._embedder, settings.search)
        prune_auto_runs = partial(modes.prune_auto_runs, retention_days=settings.runs.retention_days)
        working = [
            # Before the dispatcher: what a server left behind is interrupted before its ticks are taken up again.
            AutoTicks(db, services.rules, settings.auto, self._worker, started_at=self._started_at).serve,
            self.dispatcher.serve,
            self._turns.outages.serve,
            Pruner(db, settings, (*PRUNED, prune_auto_runs)).serve,
            Exchanges(db, settings, services.rules, self.channels).serve,
            self._telegram.serve,
            Cleanup(db, settings).serve,
            modes.schedule_duty(db, services.rules).serve,
            work.run_end_duty(db, services.rules).serve,
            work.stall_duty(db, services.rules).serve,
            heartbeats.heartbeat_duty(db, services.rules).serve,
            goals.plan_duty(db, services.rules).serve,
            board.followup_duty(db, settings.followups).serve,
            Extractions(db, self._connections).serve,
            board.Ingests(db).serve,
            FollowerDuty(db, indexing, self._worker).serve,
            Rebuilds(indexing).serve,
        ]
        if settings.classifier.mode != "off":
            similarity = Similarity(self._embedder)
            sorter = Sorter(db=db, settings=settings, rules=services.rules, similarity=similarity)
            working.append(Classifier(sorter, partial(default_model, connections=self._connections)).serve)
        if settings.a2a.enabled and settings.a2a.push.enabled:
            working.append(PushDuty(db, self._wire, settings.a2a.push).serve)
        return [*always, *working]
