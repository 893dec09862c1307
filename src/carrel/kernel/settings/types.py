"""The types of settings: their limits, and how errors describe them."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from carrel.kernel.keys import AGENT_ID
from carrel.kernel.limits import CONCURRENCY_MAX

# The names that users choose for gateways and budgets.
CHOSEN_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"

Port = Annotated[int, Meta(ge=0, le=65535)]
# The upper limits keep a typo (or TOML's `inf`) from overflowing a date or a 32-bit column.
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
# 0 leaves the number of tokens to the model.
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
# 0 switches a limit in minutes, hours or days off.
Minutes = Annotated[float, Meta(ge=0, le=525_600)]
Hours = Annotated[float, Meta(ge=0, le=8_760)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
# How many runs may work at once; 0 means no limit.
Concurrency = Annotated[int, Meta(ge=0, le=CONCURRENCY_MAX)]
# In US dollars per million tokens.
Price = Annotated[float, Meta(ge=0, le=1_000_000)]
# What may be used: tokens, US dollars and runs; 0 means no limit.
BudgetTokens = Annotated[int, Meta(ge=0, le=1_000_000_000_000_000)]
BudgetCost = Annotated[float, Meta(ge=0, le=1_000_000_000)]
BudgetRuns = Annotated[int, Meta(ge=0, le=1_000_000_000)]
# What it limits: the account, one agent, or each agent, task or session by itself.
BudgetScope = Annotated[
    str,
    Meta(
        pattern=rf"^(?:account|task|session|agent(?::{AGENT_ID})?)$",
        extra={"form": "account, agent:<id>, agent, task or session"},
    ),
]
# The period, and whether work waits when the budget is used up or people are only notified.
BudgetPer = Literal["day", "month", "forever"]
BudgetAction = Literal["wait", "warn"]
Secret = Annotated[str, Meta(extra={"secret": True})]
WebAddress = Annotated[
    str,
    Meta(
        pattern=r"^$|^https?://[^\s/]",
        # `address`: it may contain a password, which is hidden when the setting is shown.
        extra={"form": "a URL that starts with http:// or https://", "address": True},
    ),
]
DatabaseAddress = Annotated[
    str,
    Meta(
        pattern=r"^$|^sqlite:///.|^postgres(ql)?://.",
        extra={"form": "sqlite:///<file> or postgresql://…", "address": True},
    ),
]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of settings."""
