"""Budgets as values: whom they limit, what they allow, and how much is used. Pure."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal, get_args

from msgspec import Struct

from carrel.kernel import MS_PER_DAY, MS_PER_HOUR, Shape
from carrel.kernel.limits import HELD_LOOK_HOURS
from carrel.kernel.settings import BudgetAction, BudgetPer, BudgetSettings, PriceSettings
from carrel.usage import Tally, cost_of

Scope = Literal["account", "agent", "task", "session"]
Source = Literal["settings", "owner"]
State = Literal["within", "warned", "used_up"]
# The subjects by which budgets may limit a run, by scope; the account's is the empty text.
Subjects = Mapping[Scope, str]
# The share from which people are warned.
WARNED_FROM = 0.8
_EPOCH = date(1970, 1, 1).toordinal()


class Amounts(Struct, frozen=True, kw_only=True):
    """An amount of each; 0 means no limit."""

    tokens: int = 0
    usd: float = 0.0
    runs: int = 0

    @property
    def any(self) -> bool:
        """Whether there is any limit."""
        return bool(self.tokens or self.usd or self.runs)

    def times(self, factor: int) -> "Amounts":
        """Return the amounts multiplied by a factor."""
        return Amounts(tokens=self.tokens * factor, usd=self.usd * factor, runs=self.runs * factor)


class Budget(Amounts, frozen=True, kw_only=True):
    """A budget: how much its subject may use in a day, a month or forever, and what happens when it is used up.

    Without a subject it applies to each agent, task or session separately, or to the account.
    """

    name: str
    scope: Scope
    subject: str = ""
    per: BudgetPer = "day"
    action: BudgetAction = "wait"
    source: Source = "owner"

    @property
    def scope_text(self) -> str:
        """The scope as the settings and the API write it: `task`, or `agent:main`."""
        return f"{self.scope}:{self.subject}" if self.subject else self.scope

    def limits_any(self, subjects: Subjects) -> bool:
        """Return whether it limits one of these."""
        return self.scope in subjects and self.subject in ("", subjects[self.scope])

    def since(self, now: int) -> int:
        """Return the first day whose usage counts, in days since 1970; 0 for all of them."""
        today = now // MS_PER_DAY
        if self.per == "month":
            return date.fromordinal(today + _EPOCH).replace(day=1).toordinal() - _EPOCH
        return today if self.per == "day" else 0

    def renews_at(self, now: int) -> int | None:
        """Return when it renews; None if never."""
        if self.per == "forever":
            return None
        if self.per == "day":
            return (now // MS_PER_DAY + 1) * MS_PER_DAY
        first = date.fromordinal(self.since(now) + _EPOCH)
        following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
        return (following.toordinal() - _EPOCH) * MS_PER_DAY

    def look_at(self, now: int) -> int:
        """Return when runs that wait for it check again, if nobody changes it before."""
        return self.renews_at(now) or now + HELD_LOOK_HOURS * MS_PER_HOUR


class Spent(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was used; the dollars cover tokens with a known price, `unpriced_tokens` are the others."""

    tokens: int = 0
    usd: float = 0.0
    runs: int = 0
    unpriced_tokens: int = 0


class BudgetPeriod(Struct, frozen=True):
    """The record of a budget for one subject since a day; its fields are columns of its table."""

    name: str
    subject: str
    since: int
    allowed: int = 0
    warned_at: int | None = None
    used_up_at: int | None = None


class Balance(Struct, frozen=True, kw_only=True):
    """A budget's state for one subject, in the current period."""

    budget: Budget
    period: BudgetPeriod
    spent: Spent = Spent()

    @property
    def text(self) -> str:
        """The name that runs waiting for the budget store."""
        return held_text(self.budget.name, self.period.subject)

    @property
    def limits(self) -> Amounts:
        """The amounts, including what was allowed in addition."""
        return self.budget.times(1 + self.period.allowed)

    @property
    def shares(self) -> dict[str, float]:
        """How much of each limit is used."""
        limits, spent = self.limits, self.spent
        pairs = {
            "tokens": (spent.tokens, limits.tokens),
            "usd": (spent.usd, limits.usd),
            "runs": (spent.runs, limits.runs),
        }
        return {measure: used / limit for measure, (used, limit) in pairs.items() if limit}

    @property
    def share(self) -> float:
        """The largest of the shares."""
        return max(self.shares.values(), default=0.0)

    @property
    def state(self) -> State:
        """How close it is to being used up."""
        return "used_up" if self.share >= 1 else "warned" if self.share >= WARNED_FROM else "within"

    def stops(self, *, begins: bool, is_counted: bool = True) -> bool:
        """Return whether a run may not continue. One that begins may or may not be counted already."""
        if self.budget.action == "warn":
            return False
        shares = self.shares
        runs = shares.pop("runs", 0.0)
        return max(shares.values(), default=0.0) >= 1 or (begins and (runs > 1 if is_counted else runs >= 1))


def held_text(name: str, subject: str) -> str:
    """Return what runs waiting for a budget store: its name, which has no colon, and its subject."""
    return f"{name}:{subject}"


class BudgetRules(Struct, frozen=True):
    """The settings that budgets depend on."""

    budgets: Mapping[str, BudgetSettings] = {}
    prices: Mapping[str, PriceSettings] = {}

    @property
    def any(self) -> bool:
        """Whether the settings have budgets."""
        return bool(self.budgets)

    def merged(self, owners: Iterable[Budget]) -> list[Budget]:
        """Return the budgets in force, by name: the owners', and those of the settings."""
        given = {name: _of_settings(name, budget) for name, budget in self.budgets.items()}
        return [budget for _, budget in sorted((given | {budget.name: budget for budget in owners}).items())]

    def spent(self, used: Iterable[tuple[str, Tally]]) -> Spent:
        """Return the total usage of several models."""
        spent = Spent()
        for model, tally in used:
            cost = cost_of(model, tally, self.prices)
            unpriced = tally.unpriced_input + tally.unpriced_output if cost is None else 0
            spent = Spent(
                tokens=spent.tokens + tally.input_tokens + tally.output_tokens,
                usd=spent.usd + (tally.cost_usd if cost is None else cost),
                runs=spent.runs + tally.runs,
                unpriced_tokens=spent.unpriced_tokens + unpriced,
            )
        return spent


def _of_settings(name: str, given: BudgetSettings) -> Budget:
    scope, subject = parse_scope(given.scope)
    return Budget(
        name=name, scope=scope, subject=subject, tokens=given.tokens, usd=given.usd, runs=given.runs,
        per=given.per, action=given.action, source="settings",
    )  # fmt: skip


def parse_scope(text: str) -> tuple[Scope, str]:
    """Split a validated scope into its kind and its subject, which may be empty."""
    word, _, subject = text.partition(":")
    return next(scope for scope in get_args(Scope) if scope == word), subject


class AmountsShape(Shape, frozen=True, kw_only=True):
    """An amount of each; null means no limit."""

    tokens: int | None
    usd: float | None
    runs: int | None


class BudgetShape(Shape, frozen=True, kw_only=True):
    """A budget's balance: its scope, amounts, usage, and how often it was allowed once more.

    `scope` is `account`, `agent`, `task` or `session`, or one of them as `agent:main`; `subject` is the one whose usage
    this is, and null for the account, and for tasks and sessions if none has used much yet. `limits` are the amounts
    including what was allowed in addition. `action` says whether work waits when it is used up, or people are only
    notified. `source` says whether the settings or an owner set it. `waiting` counts the sessions whose next run waits
    for it. `title` is how people know the subject.
    """

    name: str
    scope: str
    subject: str | None
    title: str
    amounts: AmountsShape
    per: BudgetPer
    action: BudgetAction
    limits: AmountsShape
    spent: Spent
    share: float
    state: State
    allowed: int
    source: Source
    renews_at: str | None
    waiting: int
