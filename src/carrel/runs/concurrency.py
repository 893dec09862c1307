"""Concurrency: how many runs of one gateway, and of one agent, may work at once, on all servers together.

A claim counts the working runs, while other such claims wait for it, and takes the oldest heads of lanes for which
there is a slot. Heads without one stay due, so nothing has to be returned when a worker is lost.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Self

from msgspec import Struct

from carrel.kernel import Access
from carrel.runs import concurrency_store
from carrel.runs.concurrency_store import Head, Working
from carrel.runs.model import Claim, Run
from carrel.storage import Tx


class Concurrency(Struct, frozen=True, kw_only=True):
    """The limits in the settings: for each gateway, and for agents without a limit of their own; 0 means none."""

    gateways: Mapping[str, int] = {}
    # The gateway of agents that name none.
    default_gateway: str = "builtin"
    per_agent: int = 0

    @property
    def any(self) -> bool:
        """Whether the settings limit anything."""
        return bool(self.per_agent or any(self.gateways.values()))

    def gateway_limit(self, gateway: str) -> int:
        """Return how many runs may work at a gateway, an empty name being the default one; 0 for any number."""
        return self.gateways.get(gateway or self.default_gateway, 0)

    def agent_limit(self, own: int | None) -> int:
        """Return how many runs of an agent may work; `own` is its own limit, if it has one."""
        return self.per_agent if own is None else own


UNLIMITED = Concurrency()
Limits = Callable[[], Concurrency]


class Shortage(NamedTuple):
    """Where a run waits for a slot: at a gateway, or else at its agent. `limit` is how many may work there."""

    gateway: str | None
    limit: int


class FreeSlots:
    """Counts the free slots of gateways and agents, and takes them."""

    def __init__(self, working: Iterable[Working], limits: Concurrency) -> None:
        self._limits = limits
        self._gateways: dict[str, int] = {}
        self._agents: dict[tuple[str, str], Working] = {}
        for one in working:
            self._add(one)

    @classmethod
    def held(cls, tx: Tx, limits: Concurrency) -> Self:
        """Return the free slots; other claims wait to count them until the transaction ends."""
        concurrency_store.hold_claims(tx)
        return cls(concurrency_store.working(tx), limits)

    def _add(self, working: Working) -> None:
        gateway, agent = working.gateway or self._limits.default_gateway, (working.account_id, working.agent_id)
        before = self._agents.get(agent)
        self._gateways[gateway] = self._gateways.get(gateway, 0) + working.runs
        self._agents[agent] = working if before is None else working._replace(runs=working.runs + before.runs)

    @property
    def full_gateways(self) -> list[str]:
        """The gateways without a free slot, as agents name them."""
        full = [name for name in self._gateways if not self._has_slot(name)]
        return full + [""] * (self._limits.default_gateway in full)

    @property
    def full_agents(self) -> list[tuple[str, str]]:
        """The agents without a free slot."""
        return [agent for agent, working in self._agents.items() if not self._may_work(working)]

    def take(self, head: Head) -> bool:
        """Take a slot for a head; False if there is none."""
        agent = self._agents.get((head.run.account_id, head.run.agent_id))
        one = Working(head.run.account_id, head.run.agent_id, head.gateway, head.concurrency, 0)
        if not self._has_slot(head.gateway) or not self._may_work(agent or one):
            return False
        self._add(one._replace(runs=1))
        return True

    def shortage(self, head: Head) -> Shortage | None:
        """Return where a head waits for a slot; None if there is a free one."""
        if not self._has_slot(head.gateway):
            return Shortage(head.gateway or self._limits.default_gateway, self._limits.gateway_limit(head.gateway))
        agent = self._agents.get((head.run.account_id, head.run.agent_id))
        if agent is not None and not self._may_work(agent):
            return Shortage(None, self._limits.agent_limit(agent.concurrency))
        return None

    def _has_slot(self, gateway: str) -> bool:
        limit = self._limits.gateway_limit(gateway)
        return not limit or self._gateways.get(gateway or self._limits.default_gateway, 0) < limit

    def _may_work(self, agent: Working) -> bool:
        limit = self._limits.agent_limit(agent.concurrency)
        return not limit or agent.runs < limit


class Heads:
    """The heads of lanes that one claim starts: at most a given number, and only if there is a slot for them."""

    def __init__(self, tx: Tx, limit: int, limits: Concurrency) -> None:
        self._tx = tx
        self._limit = limit
        self._limits = limits
        self._slots = FreeSlots.held(tx, limits) if limits.any else None
        self.runs: list[Claim] = []
        self._add_due()

    @property
    def is_limited(self) -> bool:
        """Whether due heads may be left waiting for a slot."""
        return self._slots is not None

    @property
    def is_full(self) -> bool:
        """Whether the claim has as many as it may start."""
        return len(self.runs) >= self._limit

    def add(self, head: Head) -> bool:
        """Add a head whose lane is locked; False if there is no slot for it."""
        if self._slots is None and head.concurrency:
            # The heads added before belong to agents without a limit.
            self._slots = FreeSlots.held(self._tx, self._limits)
        if self._slots is not None and not self._slots.take(head):
            return False
        self.runs.append(head.run)
        return True

    def _add_due(self) -> None:
        """Add the oldest due heads. Each query leaves out who was found full before, so it gets further."""
        last: Head | None = None
        while not self.is_full:
            wanted, full = self._limit - len(self.runs), self._slots
            heads = concurrency_store.due_heads(
                self._tx, wanted, after=last, full_gateways=full.full_gateways if full else (),
                full_agents=full.full_agents if full else (),
            )  # fmt: skip
            for head in heads:
                self.add(head)
            if len(heads) < wanted:
                break
            last = heads[-1]


def shortage_of(tx: Tx, access: Access, run: Run, limits: Concurrency) -> Shortage | None:
    """Return where a due head waits for a slot; None if it does not wait."""
    head = concurrency_store.head_of(tx, access, run)
    if head is None or not (limits.any or head.concurrency):
        return None
    return FreeSlots(concurrency_store.working(tx), limits).shortage(head)
