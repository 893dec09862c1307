"""What usage costs: reported, by price, or unknown."""

import pytest

from carrel.kernel import Usage
from carrel.kernel.settings import PriceSettings
from carrel.usage.model import Tally, cost_of, tally_of

PRICES = {"big": PriceSettings(input=2, cached=1, output=10), "plain": PriceSettings(input=2, output=10)}
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "spent", "cost"),
    [
        ("other", Usage(input_tokens=5, output_tokens=5, cost_usd=0.25), 0.25),
        ("other", Usage(input_tokens=5, output_tokens=5), None),
        ("other", Usage(), 0.0),
        ("big", Usage(input_tokens=MILLION, output_tokens=MILLION), 12.0),
        ("big", Usage(input_tokens=MILLION, cached_tokens=MILLION // 2, output_tokens=0), 1.5),
        ("plain", Usage(input_tokens=MILLION, cached_tokens=MILLION // 2, output_tokens=0), 2.0),
        ("big", Usage(input_tokens=MILLION, output_tokens=MILLION, cost_usd=3.0), 3.0),
    ],
)
def test_a_cost_is_what_the_gateway_reports_else_its_price_else_unknown(
    model: str, spent: Usage, cost: float | None
) -> None:
    assert cost_of(model, tally_of(spent, 7), PRICES) == cost


def test_a_step_adds_its_tokens_and_its_time() -> None:
    assert tally_of(Usage(input_tokens=3, cached_tokens=1, output_tokens=2), 7) == Tally(0, 3, 1, 2, 3, 1, 2, 0.0, 7)
