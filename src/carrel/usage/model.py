"""Usage as values, and what it costs. Pure."""

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct, structs

from carrel.kernel import Usage
from carrel.kernel.settings import PriceSettings

By = Literal["day", "agent", "model", "task", "session"]
GROUPS: tuple[By, ...] = get_args(By)
_PER_MILLION = 1_000_000


class Tally(Struct, frozen=True):
    """What steps with one model used, and how many runs started with it; the fields are columns that are summed.

    `unpriced_*` are the tokens for which no gateway reported a cost.
    """

    runs: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    unpriced_input: int = 0
    unpriced_cached: int = 0
    unpriced_output: int = 0
    cost_usd: float = 0.0
    milliseconds: int = 0


def tally_of(used: Usage, milliseconds: int) -> Tally:
    """Return what one answered step adds."""
    tokens = (used.input_tokens, used.cached_tokens, used.output_tokens)
    unpriced = tokens if used.cost_usd is None else (0, 0, 0)
    return Tally(0, *tokens, *unpriced, used.cost_usd or 0.0, milliseconds)


def cost_of(model: str, tally: Tally, prices: Mapping[str, PriceSettings]) -> float | None:
    """Return the cost in US dollars: as reported by gateways, the rest by price; None if either is missing."""
    unpriced = tally.unpriced_input + tally.unpriced_output
    if not unpriced:
        return tally.cost_usd
    price = prices.get(model)
    if price is None:
        return None
    # Cached tokens are part of the input; without a price of their own they cost as much.
    cached_price = price.cached or price.input
    fresh = tally.unpriced_input - tally.unpriced_cached
    by_price = fresh * price.input + tally.unpriced_cached * cached_price + tally.unpriced_output * price.output
    return tally.cost_usd + by_price / _PER_MILLION


def priced(used: Usage, model: str, prices: Mapping[str, PriceSettings]) -> Usage:
    """Return what a step used with its cost, by price where the gateway reported none."""
    if used.cost_usd is not None or not used.input_tokens + used.output_tokens:
        return used
    return structs.replace(used, cost_usd=cost_of(model, tally_of(used, 0), prices))
