"""A server whose clock stands still, with budgets; every step of its model uses 18 tokens."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from carrel.budgets import Budget, BudgetRules, BudgetShape, allow_once, find_budget, parse_scope, set_budget
from carrel.kernel.settings import BudgetAction, BudgetPer, RunsSettings, Settings
from carrel.main.assembly import open_store
from carrel.main.gateways import Gateways
from carrel.storage import Tx
from carrel.usage import usage_of
from tests.harness.engine import FakeClock
from tests.harness.server import NoDelay, Server, gateways_to, usual
from tests.harness.watched_database import WatchedDatabase
from tests.scripted_gateway import ScriptedGateway

TOKENS_PER_STEP = 18
AT_ONCE = 8
DAY_SECONDS = 86_400
AGENT = "agent:main"


class Limited(Server):
    """A server, with verbs on budgets."""

    @property
    def budget_rules(self) -> BudgetRules:
        """What the settings say."""
        return BudgetRules(self.settings.budgets, self.settings.prices)

    async def limit(
        self, scope: str = AGENT, *, name: str = "limit", per: BudgetPer = "day", action: BudgetAction = "wait",
        **amounts: Any,
    ) -> None:  # fmt: skip
        """Set a budget, as an owner does."""
        kind, subject = parse_scope(scope)
        budget = Budget(name=name, scope=kind, subject=subject, per=per, action=action, **amounts)
        await self.db.write(lambda tx: set_budget(tx, self.access, budget))

    async def allow(self, name: str = "limit", subject: str | None = None) -> None:
        """Allow a budget once more."""
        await self.db.write(lambda tx: allow_once(tx, self.access, name, self.budget_rules, subject))

    async def budget(self, name: str = "limit", subject: str | None = None) -> BudgetShape:
        """Return a budget as it stands."""
        return await self.read(lambda tx: find_budget(tx, self.access, name, self.budget_rules, subject))

    async def spent(self) -> int:
        """Return how many tokens the account has used."""
        used = await self.read(lambda tx: usage_of(tx, self.access))
        return sum(tally.input_tokens + tally.output_tokens for _, tally in used)

    async def count(self, condition: str) -> int:
        """Return how many runs meet a condition."""

        def read(tx: Tx) -> int:
            row = tx.one(f"SELECT count(*) FROM runs WHERE account_id = :account AND {condition}", self.access)
            return int(row[0]) if row else 0

        return await self.read(read)

    async def until_at_rest(self) -> None:
        """Wait until no run is running and none is due."""
        busy = "SELECT 1 FROM runs WHERE state = 'running' OR due_at <= :now"
        await self.until(lambda tx: tx.one(busy, now=tx.now) is None)


@contextlib.asynccontextmanager
async def limited_server(
    url: str, gateway: ScriptedGateway, settings: Settings | None = None
) -> AsyncIterator[Limited]:
    """Open a server that runs up to eight turns at once."""
    clock = FakeClock()
    db = WatchedDatabase(open_store(url, durability="normal", clock=clock, chance=NoDelay()))
    given = usual(settings or Settings(runs=RunsSettings(concurrency=AT_ONCE)))
    try:
        async with Gateways(gateways_to(gateway)) as opened:
            server = Limited(db, opened.wire, opened.connections, given, gateway_troubles=opened.troubles)
            server.clock = clock
            await server.prepare()
            server.start()
            try:
                yield server
            finally:
                await server.kill()
    finally:
        await db.close()
