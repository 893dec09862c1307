"""Whether the server is alive and ready, the state of its lanes, and the settings it runs with."""

import asyncio
from collections import Counter
from typing import Any, Literal

from carrel.journal import feed_is_late
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, MS_PER_SECOND, Access, Clock, Code, Refusal
from carrel.kernel.limits import FEED_LATE_SECONDS, GATEWAY_CHECK_SECONDS
from carrel.monitoring import count_live, stuck_lanes
from carrel.storage import Tx, applied_schema, migrations
from carrel.surfaces.api.endpoint import OPEN, OWNER, Call, NoQuery, Out, Reply, endpoint
from carrel.surfaces.http.house import House

Level = Literal["ok", "degraded", "failed"]


class Alive(Out, frozen=True, kw_only=True):
    """The server answers."""

    status: Literal["ok"]
    version: str


class Checks(Out, frozen=True, kw_only=True):
    """The state of each part."""

    storage: Level
    migrations: Level
    dispatcher: Level
    feed: Level
    gateway: Level


class Ready(Out, frozen=True, kw_only=True):
    """Whether the server should receive requests."""

    status: Literal["ready", "not_ready"]
    checks: Checks


class LaneCounts(Out, frozen=True, kw_only=True):
    """How many lanes are busy, how many runs are queued, and how many lanes are held by a lost worker."""

    busy: int
    queued: int
    stuck: int


class WaitingCounts(Out, frozen=True, kw_only=True):
    """How many runs wait for a person, and how many for the program that sent their message."""

    person: int
    program: int


class Health(Out, frozen=True, kw_only=True):
    """The state of the server, for people."""

    status: Literal["ready", "not_ready"]
    checks: Checks
    lanes: LaneCounts
    waiting: WaitingCounts


class SettingShown(Out, frozen=True, kw_only=True):
    """One setting; a secret is shown as `set` or empty."""

    name: str
    value: Any
    default: Any
    source: Literal["default", "file", "env"]


class SettingsShown(Out, frozen=True, kw_only=True):
    """Every setting."""

    settings: list[SettingShown]


class Readiness:
    """Checks every part of the server; the gateways at most every few seconds, once for all who ask meanwhile."""

    def __init__(self, house: House, clock: Clock) -> None:
        self._house = house
        self._clock = clock
        self._gateway: Level = "ok"
        self._gateways_again_at = 0
        self._schema = migrations()[-1].number
        self._checking = asyncio.Lock()

    async def check(self) -> Ready:
        """Return the state of the server now."""
        storage, migrated, feed = await self._store()
        checks = Checks(
            storage=storage,
            migrations=migrated,
            dispatcher="failed" if self._house.draining() else "ok" if self._house.works else "degraded",
            feed=feed,
            gateway=await self._gateways(),
        )
        failed = "failed" in (checks.storage, checks.migrations, checks.dispatcher)
        return Ready(status="not_ready" if failed else "ready", checks=checks)

    async def _store(self) -> tuple[Level, Level, Level]:
        """Return the state of the storage, of its migrations and of its feed."""
        try:
            migrated, feed = await self._house.db.read(self._look)
        except Exception:  # boundary: whatever is wrong with the database, the answer is that it failed
            return "failed", "failed", "failed"
        return "ok", migrated, feed

    def _look(self, tx: Tx) -> tuple[Level, Level]:
        applied = applied_schema(tx, self._house.db.engine)
        # A newer version of this server may migrate a store that this one is using.
        migrated: Level = "ok" if applied == self._schema else "degraded" if applied > self._schema else "failed"
        return migrated, "degraded" if feed_is_late(tx, tx.now - FEED_LATE_SECONDS * MS_PER_SECOND) else "ok"

    async def _gateways(self) -> Level:
        async with self._checking:
            if self._clock.now_ms() >= self._gateways_again_at:
                # Counted from the start of a check, so that nobody causes more of them by hanging up.
                self._gateways_again_at = self._clock.now_ms() + GATEWAY_CHECK_SECONDS * MS_PER_SECOND
                up = await self._house.gateways_up()
                self._gateway = "ok" if all(up.values()) else "degraded"
            return self._gateway


def _readiness(call: Call[None, NoQuery]) -> Readiness:
    found: Readiness = call.request.app.state.readiness
    return found


@endpoint("GET", "/healthz", answers={200: Alive}, who=OPEN)
async def show_alive(call: Call[None, NoQuery]) -> Alive:
    """Check whether the server is alive."""
    return Alive(status="ok", version=call.house.version)


@endpoint("GET", "/readyz", answers={200: Ready, 503: Ready}, who=OPEN)
async def show_ready(call: Call[None, NoQuery]) -> Reply:
    """Check whether the server should receive requests."""
    ready = await _readiness(call).check()
    return Reply(200 if ready.status == "ready" else 503, ready)


@endpoint("GET", "/api/health", answers={200: Health})
async def show_health(call: Call[None, NoQuery]) -> Health:
    """Get the state of the server and of the lanes that the caller may see."""
    ready = await _readiness(call).check()
    lanes, waiting = await call.read(_counts)
    return Health(status=ready.status, checks=ready.checks, lanes=lanes, waiting=waiting)


def _counts(tx: Tx, access: Access) -> tuple[LaneCounts, WaitingCounts]:
    live: Counter[str] = Counter()
    for (state, _), count in count_live(tx, access).items():
        live[state] += count
    stuck = stuck_lanes(tx, access).values()
    lanes = LaneCounts(busy=live["running"], queued=live["queued"], stuck=sum(stuck))
    return lanes, WaitingCounts(person=live["person"], program=live["program"])


def require_operator(access: Access) -> None:
    """Refuse every owner but that of the default account, who runs the server."""
    if access.account_slug != DEFAULT_ACCOUNT_SLUG:
        raise Refusal(Code.FORBIDDEN, "Only the owner of the account 'default' may do this.")


@endpoint("GET", "/api/settings", answers={200: SettingsShown}, who=OWNER)
async def show_settings(call: Call[None, NoQuery]) -> SettingsShown:
    """List the settings of this server and where each comes from."""
    require_operator(call.access)
    return SettingsShown(
        settings=[
            SettingShown(name=row.name, value=row.value, default=row.default, source=row.source)
            for row in call.house.setting_rows
        ]
    )
