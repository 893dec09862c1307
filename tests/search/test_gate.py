"""Who may search next. Whoever is admitted stays until the test lets it go."""

import asyncio

import pytest
from msgspec import structs

from carrel.kernel import Access
from carrel.kernel.limits import SEARCH_TURN_SECONDS_MAX
from carrel.search.gate import Gate
from tests.harness.elapsing import Elapsing
from tests.harness.engine import within

WAIT_SECONDS = 0.25
GREEDY = Access(account_id="acc_1", account_slug="one", kind="owner", actor_id="greedy")
COLLEAGUE = structs.replace(GREEDY, actor_id="colleague")
STRANGER = structs.replace(GREEDY, account_id="acc_2", actor_id="stranger")


class Searching:
    """Searches at one gate, by who has been admitted, in order."""

    def __init__(self, group: asyncio.TaskGroup, slots: int) -> None:
        self.gate = Gate(slots)
        self.group = group
        self.admitted: list[str] = []
        self.refused: list[str] = []
        self._ends: list[asyncio.Event] = []

    async def start(self, *callers: Access) -> list[asyncio.Task[None]]:
        """Start a search for each, in that order."""
        tasks = [self.group.create_task(self._search(caller)) for caller in callers]
        await self.settle()
        return tasks

    async def _search(self, caller: Access) -> None:
        end = asyncio.Event()
        try:
            async with self.gate.slot(caller, WAIT_SECONDS):
                self.admitted.append(caller.actor_id)
                self._ends.append(end)
                await end.wait()
        except TimeoutError:
            self.refused.append(caller.actor_id)

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def end_one(self) -> None:
        """Let the search end that was admitted first."""
        self._ends.pop(0).set()
        await self.settle()

    async def end_all(self) -> None:
        """Let every search end."""
        while self._ends:
            await self.end_one()


@pytest.mark.parametrize("slots", [1, 2])
async def test_places_come_in_turn_to_accounts_and_to_the_callers_of_each(slots: int) -> None:
    async with asyncio.TaskGroup() as group:
        searching = Searching(group, slots)
        await searching.start(*[GREEDY] * (slots + 3), COLLEAGUE, STRANGER)
        assert searching.admitted == ["greedy"] * slots
        await searching.end_all()
        assert searching.admitted[slots:] == ["stranger", "colleague"] + ["greedy"] * 3


async def test_a_callers_only_search_waits_for_its_turn_and_further_ones_are_refused(elapsing: Elapsing) -> None:
    async with asyncio.TaskGroup() as group:
        searching = Searching(group, 1)
        await searching.start(*[GREEDY] * 4, COLLEAGUE, STRANGER, STRANGER)
        elapsing.advance(WAIT_SECONDS)
        await searching.settle()
        assert searching.refused == ["greedy"] * 3 + ["stranger"]
        await searching.end_all()
        assert searching.admitted == ["greedy", "stranger", "colleague"]
        await searching.start(GREEDY, STRANGER)
        elapsing.advance(SEARCH_TURN_SECONDS_MAX)
        await searching.settle()
        assert searching.refused[-1] == "stranger", "no turn can take so long"
        await searching.end_all()


async def test_a_place_is_passed_on_by_whoever_gives_up() -> None:
    async with asyncio.TaskGroup() as group:
        searching = Searching(group, 1)
        await searching.start(GREEDY)
        waiting, admitted = await searching.start(COLLEAGUE, STRANGER)
        searching._ends.pop(0).set()
        # Its place is free, and it has not noticed yet.
        await asyncio.sleep(0)
        assert searching.admitted == ["greedy"]
        admitted.cancel()
        waiting.cancel()
        await searching.settle()
        (last,) = await searching.start(GREEDY)
        assert searching.admitted == ["greedy"] * 2
        await searching.end_all()
        await within(last)
