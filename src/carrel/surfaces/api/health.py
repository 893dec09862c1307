"""Whether the server is alive and ready, the state of its lanes, and the settings it runs with."""

from typing import Any, Literal

from carrel.access import every_account
from carrel.journal import feed_start
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, MS_PER_SECOND, Access, Clock, Code, Refusal, system_access
from carrel.kernel.limits import GATEWAY_CHECK_SECONDS
from carrel.monitoring import count_live, stuck_lanes
from carrel.storage import Tx
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
    search: Level


class Ready(Out, frozen=True, kw_only=True):
    """Whether the server should receive requests."""

    status: Literal["ready", "not_ready"]
    checks: Checks


class Injection(Out, frozen=True, kw_only=True):
    """When an agent last received context."""

    agent_id: str
    last_injected_at: str | None
    runs_since: int


class Classifying(Out, frozen=True, kw_only=True):
    """The entries that wait to be classified."""

    pending: int
    oldest_pending_seconds: int


class LaneCounts(Out, frozen=True, kw_only=True):
    """How many lanes are busy, how many runs are queued, and how many lanes are held by a lost worker."""

    busy: int
    queued: int
    stuck: int


class IndexState(Out, frozen=True, kw_only=True):
    """How far the search index is behind."""

    lag_seconds: float
    pending: int
    mode: Literal["hybrid", "lexical", "none"]


class Health(Out, frozen=True, kw_only=True):
    """The state of the server, for people."""

    status: Literal["ready", "not_ready"]
    checks: Checks
    context_injection: list[Injection]
    classifier: Classifying
    lanes: LaneCounts
    index: IndexState


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
    """Checks every part of the server; the gateways at most every few seconds."""

    def __init__(self, house: House, clock: Clock) -> None:
        self._house = house
        self._clock = clock
        self._gateway: Level = "ok"
        self._gateways_again_at = 0

    async def check(self) -> Ready:
        """Return the state of the server now."""
        stored = await self._storage()
        checks = Checks(
            storage=stored,
            # A database with another schema is never opened, so one that answers has been migrated.
            migrations=stored,
            dispatcher="failed" if self._house.draining() else "ok" if self._house.works else "degraded",
            feed=stored,
            gateway=await self._gateways(),
            search="ok",
        )
        failed = "failed" in (checks.storage, checks.dispatcher)
        return Ready(status="not_ready" if failed else "ready", checks=checks)

    async def _storage(self) -> Level:
        try:
            await self._house.db.read(_read_feed)
        except Exception:  # boundary: whatever is wrong with the database, the answer is that it failed
            return "failed"
        return "ok"

    async def _gateways(self) -> Level:
        now = self._clock.now_ms()
        if now >= self._gateways_again_at:
            up = await self._house.gateways_up()
            self._gateway = "ok" if all(up.values()) else "degraded"
            self._gateways_again_at = now + GATEWAY_CHECK_SECONDS * MS_PER_SECOND
        return self._gateway


def _read_feed(tx: Tx) -> None:
    for account in every_account(tx)[:1]:
        feed_start(tx, system_access(account.id), None)


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
    return Health(
        status=ready.status,
        checks=ready.checks,
        context_injection=[],
        classifier=Classifying(pending=0, oldest_pending_seconds=0),
        lanes=await call.read(_lanes),
        index=IndexState(lag_seconds=0, pending=0, mode="none"),
    )


def _lanes(tx: Tx, access: Access) -> LaneCounts:
    mine = {access.agent_id} if access.agent_id else None
    live = {key: count for key, count in count_live(tx, access).items() if mine is None or key[1] in mine}
    return LaneCounts(
        busy=sum(count for (state, _), count in live.items() if state == "running"),
        queued=sum(count for (state, _), count in live.items() if state == "queued"),
        stuck=sum(count for agent, count in stuck_lanes(tx, access).items() if mine is None or agent in mine),
    )


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
