"""Whether the server is alive and ready, the state of its lanes, and the settings it runs with."""

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any, Literal

from msgspec import structs

from carrel.agents import Agent, every_agent, may_address
from carrel.board import backlog
from carrel.delivery import Connection, Injection, injections_of
from carrel.gateway import missing_gateway
from carrel.journal import About, append_event, events_behind, feed_is_late, json_text
from carrel.kernel import MS_PER_SECOND, Access, Clock, Code, Refusal, Shape, iso
from carrel.kernel.limits import FEED_LATE_SECONDS, GATEWAY_CHECK_SECONDS
from carrel.kernel.settings import SettingRow
from carrel.monitoring import count_live, count_unreachable, stuck_lanes
from carrel.search import SearchMode, index_lag
from carrel.storage import Tx, applied_schema, database_bytes, duty_reports, migrations
from carrel.surfaces.api.endpoint import OPEN, OWNER, Call, NoQuery, Reply, endpoint
from carrel.surfaces.api.mcp_servers import McpServerState, server_state
from carrel.surfaces.http.errors import ErrorBody, error_body
from carrel.surfaces.http.services import Reloaded, Services, WrongSettings

Level = Literal["ok", "degraded", "failed"]


class Alive(Shape, frozen=True, kw_only=True):
    """The server answers."""

    status: Literal["ok"]
    version: str


class Checks(Shape, frozen=True, kw_only=True):
    """The state of each part."""

    storage: Level
    migrations: Level
    dispatcher: Level
    feed: Level
    gateway: Level
    search: Level


class Ready(Shape, frozen=True, kw_only=True):
    """Whether the server should receive requests."""

    status: Literal["ready", "not_ready"]
    checks: Checks


class LaneCounts(Shape, frozen=True, kw_only=True):
    """How many lanes are busy, how many runs are queued, and how many lanes are held by a lost worker."""

    busy: int
    queued: int
    stuck: int


class WaitingCounts(Shape, frozen=True, kw_only=True):
    """How many runs wait for a person, and how many for the program that sent their message."""

    person: int
    program: int


class ClassifierBacklog(Shape, frozen=True, kw_only=True):
    """Whether entries of the board are sorted, how many wait for it, and for how long the oldest of them has."""

    enabled: bool
    pending: int
    oldest_pending_seconds: float | None


class GatewayState(Shape, frozen=True, kw_only=True):
    """A gateway: its state and since when, how many runs wait for it and, for people, what is wrong with it.

    One without a `kind` is not in the settings, although agents of this account name it.
    """

    name: str
    kind: str
    status: Level
    since: str
    waiting_runs: int = 0
    last_error: str | None = None


class IndexState(Shape, frozen=True, kw_only=True):
    """How far search is behind what was written, and whether it compares meanings or words alone."""

    lag_seconds: float
    pending: int
    mode: SearchMode


class FollowerState(Shape, frozen=True, kw_only=True):
    """What follows the feed of changes, such as the index, and how many events it still has to handle."""

    name: str
    behind: int


class DatabaseState(Shape, frozen=True, kw_only=True):
    """The database: which one, the number of its newest migration, and how large it is."""

    engine: Literal["sqlite", "postgresql"]
    schema: int
    size_bytes: int


class DutyState(Shape, frozen=True, kw_only=True):
    """Background work of this server: when it last did something, when it is next due, and how it failed since start.

    `nextAt` is null while nothing is known to become due; it then waits for something to happen.
    """

    name: str
    last_at: str | None
    next_at: str | None
    failures: int
    last_error: str | None


class Health(Ready, frozen=True, kw_only=True):
    """The state of the server, for people."""

    lanes: LaneCounts
    waiting: WaitingCounts
    gateways: list[GatewayState]
    mcp_servers: list[McpServerState]
    index: IndexState
    context_injection: list[Injection]
    classifier: ClassifierBacklog
    followers: list[FollowerState]
    # Only for the owner of the account `default`: it covers all accounts.
    database: DatabaseState | None
    duties: list[DutyState] | None
    # For people: why nothing can be written.
    storage_error: str | None


class SettingsShown(Shape, frozen=True, kw_only=True):
    """Every setting, and the file that they are read from, which need not exist."""

    file: str
    settings: list[SettingRow]


class Readiness:
    """Checks every part of the server.

    The gateways are checked at most every few seconds, once for all who ask meanwhile, and when others are configured.
    """

    def __init__(self, services: Services, clock: Clock) -> None:
        self._services = services
        self._clock = clock
        self._gateways: dict[str, GatewayState] = {}
        self._gateways_again_at = 0
        self._checked: dict[str, Connection] = {}
        self._schema = migrations()[-1].number
        self._checking = asyncio.Lock()

    async def check(self) -> Ready:
        """Return the state of the server now."""
        storage, migrated, feed = await self._store()
        checks = Checks(
            storage=storage,
            migrations=migrated,
            dispatcher="failed" if self._services.draining() else "ok" if self._services.works else "degraded",
            feed=feed,
            gateway="ok" if all(one.status == "ok" for one in await self.gateways()) else "degraded",
            search="degraded" if self._services.search.is_degraded else "ok",
        )
        failed = "failed" in (checks.storage, checks.migrations, checks.dispatcher)
        return Ready(status="not_ready" if failed else "ready", checks=checks)

    async def _store(self) -> tuple[Level, Level, Level]:
        """Return the state of the storage, of its migrations and of its feed."""
        try:
            migrated, feed = await self._services.db.read(self._look)
        except Exception:  # boundary: any fault of the database means that the check failed
            return "failed", "failed", "failed"
        if self._services.db.write_error is not None:
            # A server that is not ready may get no other request that would show that writing is possible again.
            with suppress(Refusal):
                await self._services.db.write(lambda tx: tx.tick())
        return "ok" if self._services.db.write_error is None else "failed", migrated, feed

    def _look(self, tx: Tx) -> tuple[Level, Level]:
        applied = applied_schema(tx, self._services.db.engine)
        # A newer version of this server may migrate a store that this one is using.
        migrated: Level = "ok" if applied == self._schema else "degraded" if applied > self._schema else "failed"
        return migrated, "degraded" if feed_is_late(tx, tx.now - FEED_LATE_SECONDS * MS_PER_SECOND) else "ok"

    async def gateways(self) -> list[GatewayState]:
        """Return the state of each gateway, by name."""
        async with self._checking:
            configured = dict(self._services.connections)
            if self._clock.now_ms() >= self._gateways_again_at or configured != self._checked:
                self._checked = configured
                # Counted from the start of a check, so that nobody causes more of them by hanging up.
                self._gateways_again_at = self._clock.now_ms() + GATEWAY_CHECK_SECONDS * MS_PER_SECOND
                troubles = await self._services.configuration.troubles()
                self._gateways = {name: self._state(name, troubles[name]) for name in sorted(troubles)}
            return list(self._gateways.values())

    def _state(self, name: str, trouble: str | None) -> GatewayState:
        before, connection = self._gateways.get(name), self._services.connections.get(name)
        status: Level = "ok" if trouble is None else "failed"
        return GatewayState(
            name=name,
            kind="" if connection is None else connection.settings.kind,
            status=status,
            since=before.since if before and before.status == status else iso(self._clock.now_ms()) or "",
            last_error=trouble,
        )


def _readiness(call: Call[None, NoQuery]) -> Readiness:
    found: Readiness = call.request.app.state.readiness
    return found


@endpoint("GET", "/healthz", who=OPEN)
async def show_alive(call: Call[None, NoQuery]) -> Alive:
    """Check whether the server is alive."""
    return Alive(status="ok", version=call.services.version)


@endpoint("GET", "/readyz", also=503, who=OPEN)
async def show_ready(call: Call[None, NoQuery]) -> Reply[Ready]:
    """Check whether the server should receive requests."""
    ready = await _readiness(call).check()
    return Reply(200 if ready.status == "ready" else 503, ready)


@endpoint("GET", "/api/health")
async def show_health(call: Call[None, NoQuery]) -> Health:
    """Get the state of the server and of the lanes that the caller may see."""
    ready, gateways = await _readiness(call).check(), await _readiness(call).gateways()
    return await call.read(lambda tx, access: _health(tx, access, call.services, ready, gateways))


def _health(tx: Tx, access: Access, services: Services, ready: Ready, gateways: list[GatewayState]) -> Health:
    live: Counter[str] = Counter()
    for (state, _), count in count_live(tx, access).items():
        live[state] += count
    lag, agents = index_lag(tx, access), [one for one in every_agent(tx, access) if may_address(access, one.id)]
    return Health.of(
        ready,
        lanes=LaneCounts(busy=live["running"], queued=live["queued"], stuck=sum(stuck_lanes(tx, access).values())),
        waiting=WaitingCounts(person=live["person"], program=live["program"]),
        gateways=_gateways(tx, access, services, gateways, agents),
        mcp_servers=[server_state(state, access) for state in services.connectors.states(access.account_slug)],
        index=IndexState(lag_seconds=lag.seconds, pending=lag.pending, mode=services.search.mode),
        context_injection=injections_of(tx, access, [agent.id for agent in agents]),
        classifier=ClassifierBacklog.of(backlog(tx, access), enabled=services.settings.classifier.mode != "off"),
        followers=[FollowerState(name=name, behind=count) for name, count in sorted(events_behind(tx, access).items())],
        database=_database(tx, services.db.engine) if access.is_operator else None,
        duties=[DutyState.of(one) for one in duty_reports(services.db)] if access.is_operator else None,
        storage_error=services.db.write_error if access.is_person else None,
    )


def _gateways(
    tx: Tx, access: Access, services: Services, checked: list[GatewayState], agents: list[Agent]
) -> list[GatewayState]:
    """Return the gateways that the caller may know of, and those that agents in its view name but the settings lack."""
    configured = services.connections
    hidden = configured.keys() - services.gateways_of(access)
    users: defaultdict[str, list[str]] = defaultdict(list)
    for agent in agents:
        if agent.enabled and agent.gateway_among(configured) not in configured:
            users[agent.profile.gateway].append(agent.id)
    since, waiting = iso(tx.now) or "", count_unreachable(tx, access)
    found = [one for one in checked if one.name not in hidden] + [
        GatewayState(name=name, kind="", status="failed", since=since, last_error=missing_gateway(name, ids))
        for name, ids in sorted(users.items())
    ]
    if not access.is_person:
        # An error may name the address of a gateway, which agents need not know.
        found = [structs.replace(one, last_error=None) for one in found]
    return [structs.replace(one, waiting_runs=waiting.get(one.name, 0)) for one in found]


def _database(tx: Tx, engine: str) -> DatabaseState:
    kind: Literal["sqlite", "postgresql"] = "sqlite" if engine == "sqlite" else "postgresql"
    return DatabaseState(engine=kind, schema=applied_schema(tx, engine), size_bytes=database_bytes(tx, engine))


@endpoint("GET", "/api/settings", who=OWNER, by_operator=True)
async def show_settings(call: Call[None, NoQuery]) -> SettingsShown:
    """List the settings of this server and where each comes from."""
    return SettingsShown(file=call.services.configuration.file(), settings=[*call.services.configuration.rows()])


@endpoint("POST", "/api/settings/reload", answers={200: Reloaded, 422: ErrorBody}, who=OWNER, by_operator=True)
async def reload_settings(call: Call[None, NoQuery]) -> Reloaded | Reply[ErrorBody]:
    """Read the settings again and take up what needs no restart; if they are wrong, nothing changes."""
    try:
        reloaded = await call.services.configuration.reload()
    except WrongSettings as error:
        refusal = Refusal(Code.INVALID_PARAMS, " ".join(error.problems), details={"problems": list(error.problems)})
        return Reply(422, error_body(refusal, call.request.state.request_id))
    return await reloaded_settings(call, reloaded)


async def reloaded_settings(call: Call[Any, NoQuery], reloaded: Reloaded) -> Reloaded:
    """Publish that the settings were taken up, and return what has changed."""
    if reloaded.changed:
        body = json_text({"changed": reloaded.changed})
        await call.write(lambda tx, access: append_event(tx, access, "settings.updated", About(), body))
    return reloaded
