"""The demo while it is built: a store with a movable clock, an unstarted server, and what is done with both."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from carrel import work
from carrel.access import make_user
from carrel.exchanges import Exchanges
from carrel.goals import plan_duty
from carrel.kernel import MS_PER_SECOND, Access, Chance, Envelope, Message, Provenance, SessionKey
from carrel.main.assembly import Assembly
from carrel.main.demo.gateway import DemoGateway
from carrel.runs import Run, deliver, run_by_id

T = TypeVar("T")
# A step of the demo's model takes this long, plus a second for this many characters of its answer.
_STEP_SECONDS = 2
_CHARS_PER_SECOND = 60
# Shorter than a lease, which nobody renews while the demo is built.
_STEP_SECONDS_MAX = 40


class Size(NamedTuple):
    """The number of tasks and of transcript lines in the demo."""

    tasks: int
    lines: int


WHOLE = Size(tasks=1_000, lines=10_000)


class SeededChance:
    """Random numbers that are the same for the same seed: hashes of a counter."""

    def __init__(self, seed: int) -> None:
        self._seed, self._drawn = seed, 0

    def getrandbits(self, k: int, /) -> int:
        """Return a number of at most `k` bits, up to 256."""
        self._drawn += 1
        drawn = sha256(f"{self._seed}:{self._drawn}".encode()).digest()
        return int.from_bytes(drawn) >> (8 * len(drawn) - k)

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self.getrandbits(32) / (1 << 32)


class DemoClock:
    """A clock that stands still until it is moved, and never goes back."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Return the moment it was moved to."""
        return self._now_ms

    def move_to(self, moment_ms: int) -> None:
        """Move on to a moment; one that has passed changes nothing."""
        self._now_ms = max(self._now_ms, moment_ms)

    async def work(self, chars: int) -> None:
        """Move on by the time that a model takes for a step."""
        seconds = min(_STEP_SECONDS_MAX, _STEP_SECONDS + chars // _CHARS_PER_SECOND)
        self._now_ms += seconds * MS_PER_SECOND


class World:
    """The store, the server and everyone in it."""

    def __init__(
        self, assembly: Assembly, clock: DemoClock, gateway: DemoGateway, chance: Chance, owner: Access, size: Size
    ) -> None:  # fmt: skip
        self._db = db = assembly.services.db
        self.clock, self.gateway = clock, gateway
        # Does something in a transaction of its own.
        self.write = db.write
        self.rules = assembly.services.rules
        self._chance = chance
        self._dispatcher = assembly.dispatcher
        exchanges = Exchanges(db, assembly.services.settings, self.rules, assembly.channels)
        self._duties = (work.run_end_duty(db, self.rules), plan_duty(db, self.rules), exchanges)
        self.owner, self.size = owner, size
        self.people: list[Access] = []

    async def invite(self, names: Sequence[str]) -> None:
        """Create the people."""
        for name in names:
            new = partial(make_user, access=self.owner, name=name, slug=name.lower(), email=None, role="member")
            user = await self.write(new)
            who: dict[str, Any] = {"kind": "user", "actor_id": user.id, "user_id": user.id, "name": user.name}
            self.people.append(structs.replace(self.owner, **who))

    async def settle(self) -> None:
        """Let the agents work until nothing is due."""
        while True:
            for duty in self._duties:
                while await duty.round() == 0:
                    pass
            if not await self._dispatcher.work_off():
                return

    async def say(self, key: SessionKey, text: str, *acts: Any, by: Access | None = None, **more: Any) -> Run:
        """Say something in a lane, let the agents work, and return the run as it is then."""
        access = by or self.owner
        if acts:
            self.gateway.cue(str(key), *acts)
        message = Message(text=text, provenance=Provenance(kind="external_user", actor=access.actor_id))
        envelope = Envelope(key=key, message=message, **more)
        run = await self.write(lambda tx: deliver(tx, access, envelope, self.rules))
        await self.settle()
        return await self._db.read(lambda tx: run_by_id(tx, access, run.id)) or run

    def pick(self, choices: Sequence[T]) -> T:
        """Choose one by the seed."""
        return choices[int(self._chance.random() * len(choices))]

    def happens(self, share: float) -> bool:
        """Decide by the seed whether something happens that often."""
        return self._chance.random() < share
