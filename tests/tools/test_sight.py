"""What a tool may see: the same for every tool, and what an independent reading of the rule says."""

import pytest

from tests.requirements.mark import requirement
from tests.tools.sights import compare

pytestmark = pytest.mark.anyio


@requirement(
    "S2.visibility.default", "S2.visibility.self", "S2.visibility.tree", "S2.visibility.agent", "S2.visibility.all",
    "S2.visibility.clamp", "S2.visibility.everywhere", "S2.x.clamp.narrow", "S2.x.list.told", "S2.list.sandboxed",
)  # fmt: skip
@pytest.mark.parametrize("seed", range(8))
async def test_every_tool_shows_exactly_what_the_rule_says(store_url: str, seed: int) -> None:
    assert await compare(store_url, seed, cases=30) == []
