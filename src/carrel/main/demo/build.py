"""Building the demo: a month of work, day by day, and then what is waiting now."""

from collections.abc import Callable

from carrel.access import owner_of_default
from carrel.connectors import Connectors
from carrel.delivery import BUILTIN, Connection
from carrel.inbound import Webhooks
from carrel.kernel import MS_PER_DAY
from carrel.kernel.settings import GatewaySettings
from carrel.main.assembly import Assembly, open_store
from carrel.main.demo.agent_work import day_of_work, last_day
from carrel.main.demo.bulk import fill_board, fill_transcript, furnish
from carrel.main.demo.gateway import DemoGateway
from carrel.main.demo.world import WHOLE, DemoClock, SeededChance, Size, World
from carrel.main.gateways import Gateways
from carrel.main.live_settings import LiveSettings
from carrel.main.owner_token import ensure_owner
from carrel.main.settings import LoadedSettings

_SEED = 1911
_MORNING_MS = 8 * 3_600_000
# How its connection is described; nothing is sent there.
CONNECTION = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9", model="demo-small")


async def build_demo(
    read: Callable[[], LoadedSettings], now_ms: int, *, days: int = 30, size: Size = WHOLE
) -> None:  # fmt: skip
    """Build the demo in the store that the settings name, so that its month ends at a moment; its folder must exist."""
    loaded = read()
    first_day = now_ms // MS_PER_DAY - days
    clock = DemoClock(first_day * MS_PER_DAY)
    chance = SeededChance(_SEED)
    db = open_store(loaded.settings.storage.url, durability="normal", clock=clock, chance=chance)
    try:
        await ensure_owner(db, loaded.settings.storage.data_dir)
        async with Gateways({}) as gateways:
            gateway = DemoGateway(clock.work)
            connections = {BUILTIN: Connection(gateway, CONNECTION)}
            assembly = Assembly(
                db, gateways.wire, connections, loaded.settings,
                worker="demo", works=True, draining=lambda: False,
                configuration=LiveSettings(loaded, gateways, Connectors({}), Webhooks({}), read),
            )  # fmt: skip
            owner = await db.read(owner_of_default)
            await _act(World(assembly, clock, gateway, chance, owner, size), first_day, days, now_ms)
    finally:
        await db.close()


async def _act(world: World, first_day: int, days: int, now_ms: int) -> None:
    await furnish(world)
    for day in range(days):
        world.clock.move_to((first_day + day) * MS_PER_DAY + _MORNING_MS)
        await fill_board(world, day, days)
        await fill_transcript(world, day, days)
        await day_of_work(world, day)
    # This morning may be later than the moment at which the month ends.
    world.clock.move_to(min(now_ms, world.clock.now_ms() + _MORNING_MS))
    await last_day(world)
    world.clock.move_to(now_ms)
