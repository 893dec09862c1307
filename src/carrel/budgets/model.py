"""Budgets as values: what they are of, what they allow, and how much of it is used. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from carrel.kernel import MS_PER_DAY, Shape
from carrel.kernel.limits import BUDGET_LOOK_HOURS
from carrel.kernel.settings import BudgetSettings, BudgetsSettings, DailyBudgetSettings, PriceSettings
from carrel.usage import Tally, cost_of

Scope = Literal["account", "agent", "task", "session"]
Period = Literal["day", "total"]
State = Literal["within", "warned", "used_up"]
# From this share on people are warned.
WARNED_FROM = 0.8
# In this order the budgets of a run are checked, and locked.
SCOPES: tuple[Scope, ...] = ("account", "agent", "task", "session")
_MS_PER_HOUR = 3_600_000
# What the settings say of themselves: 0 everywhere.
_NO_LIMITS = BudgetsSettings()


class BudgetName(Struct, frozen=True, order=True):
    """What a budget is of, and for how long; the subject of the account's own is empty."""

    scope: Scope
    period: Period
    subject: str

    @property
    def text(self) -> str:
        """The name as runs that wait for the budget store it."""
        return f"{self.scope}:{self.period}:{self.subject}"

    def day(self, now: int) -> int:
        """Return the day whose usage counts; 0 for the whole time."""
        return now // MS_PER_DAY if self.period == "day" else 0

    def renews_at(self, now: int) -> int | None:
        """Return when it begins anew; None if it never does."""
        return (now // MS_PER_DAY + 1) * MS_PER_DAY if self.period == "day" else None

    def look_at(self, now: int) -> int:
        """Return when what waits for it looks again, if nobody changes it before."""
        return self.renews_at(now) or now + BUDGET_LOOK_HOURS * _MS_PER_HOUR


class Amounts(Struct, frozen=True, kw_only=True):
    """How much of each there is; 0 limits nothing."""

    tokens: int = 0
    cost_usd: float = 0.0
    runs: int = 0

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return bool(self.tokens or self.cost_usd or self.runs)

    def times(self, factor: int) -> "Amounts":
        """Return so many times as much."""
        return Amounts(tokens=self.tokens * factor, cost_usd=self.cost_usd * factor, runs=self.runs * factor)


class Spent(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was used; the cost is that of the tokens whose price is known, `unpriced_tokens` are the others."""

    tokens: int = 0
    cost_usd: float = 0.0
    runs: int = 0
    unpriced_tokens: int = 0


class BudgetPeriod(Struct, frozen=True):
    """What has become of a budget in a day, or in the whole time; its fields are columns of its table."""

    scope: Scope
    period: Period
    subject: str
    allowed: int = 0
    warned_at: int | None = None
    used_up_at: int | None = None


class Budget(Struct, frozen=True, kw_only=True):
    """A budget as it stands."""

    name: BudgetName
    amounts: Amounts
    source: Literal["settings", "owner"]
    spent: Spent = Spent()
    allowed: int = 0
    warned_at: int | None = None
    used_up_at: int | None = None

    @property
    def limits(self) -> Amounts:
        """What may be used, with what was allowed on top of it."""
        return self.amounts.times(1 + self.allowed)

    @property
    def shares(self) -> dict[str, float]:
        """How much of each limit is used."""
        limits, spent = self.limits, self.spent
        pairs = {
            "tokens": (spent.tokens, limits.tokens),
            "cost_usd": (spent.cost_usd, limits.cost_usd),
            "runs": (spent.runs, limits.runs),
        }
        return {measure: used / limit for measure, (used, limit) in pairs.items() if limit}

    @property
    def share(self) -> float:
        """The largest of the shares."""
        return max(self.shares.values(), default=0.0)

    @property
    def state(self) -> State:
        """How near its end it is."""
        return "used_up" if self.share >= 1 else "warned" if self.share >= WARNED_FROM else "within"

    def stops(self, *, begins: bool) -> bool:
        """Return whether a run may not go on; one that begins is counted already."""
        shares = self.shares
        runs = shares.pop("runs", 0.0)
        return max(shares.values(), default=0.0) >= 1 or (begins and runs > 1)


class BudgetRules(Struct, frozen=True):
    """The settings that budgets depend on."""

    budgets: BudgetsSettings = BudgetsSettings()
    prices: Mapping[str, PriceSettings] = {}

    @property
    def any(self) -> bool:
        """Whether the settings limit anything."""
        return self.budgets != _NO_LIMITS

    def amounts(self, scope: Scope, period: Period) -> Amounts:
        """Return what the settings allow each of a kind."""
        given: DailyBudgetSettings = getattr(self.budgets, scope)
        if period == "day":
            return Amounts(tokens=given.tokens_per_day, cost_usd=given.cost_usd_per_day, runs=given.runs_per_day)
        if not isinstance(given, BudgetSettings):
            return Amounts()
        return Amounts(tokens=given.tokens, cost_usd=given.cost_usd, runs=given.runs)

    def spent(self, used: Iterable[tuple[str, Tally]]) -> Spent:
        """Return what the usage of several models makes together."""
        spent = Spent()
        for model, tally in used:
            cost = cost_of(model, tally, self.prices)
            unpriced = tally.unpriced_input + tally.unpriced_output if cost is None else 0
            spent = Spent(
                tokens=spent.tokens + tally.input_tokens + tally.output_tokens,
                cost_usd=spent.cost_usd + (tally.cost_usd if cost is None else cost),
                runs=spent.runs + tally.runs,
                unpriced_tokens=spent.unpriced_tokens + unpriced,
            )
        return spent


class AmountsShape(Shape, frozen=True, kw_only=True):
    """How much of each there is; null limits nothing."""

    tokens: int | None
    cost_usd: float | None
    runs: int | None


class BudgetShape(Shape, frozen=True, kw_only=True):
    """A budget: what it is of, its amounts, how much is used, how often it was allowed once more.

    `limits` are the amounts with what was allowed on top. `source` says whether the settings or an owner has set it.
    `waiting` counts the sessions whose next run waits for it. `title` is how people know the subject.
    """

    scope: Scope
    period: Period
    subject: str | None
    title: str
    amounts: AmountsShape
    limits: AmountsShape
    spent: Spent
    share: float
    state: State
    allowed: int
    source: Literal["settings", "owner"]
    renews_at: str | None
    waiting: int
