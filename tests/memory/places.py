"""Readers of memory in lanes of one account or two, with the verbs that tests need."""

from typing import Any

from carrel.kernel import METRICS, Access, SessionKey
from carrel.memory import (
    Memory,
    NewMemory,
    Reader,
    Recalled,
    Scope,
    forget,
    in_chain,
    keep,
    promote,
    recall,
    scope_chain,
)
from tests.harness.engine import Engine


def reader(rest: str = "web:c1", agent: str = "main", *, task: str | None = None, goal: str | None = None) -> Reader:
    """Return the reader of a run in a lane, on a task and for a goal if they are given."""
    return Reader(agent_id=agent, chain=scope_chain(SessionKey.of(agent, rest).identity, task_id=task, goal_id=goal))


class Notebook:
    """The memories of one account."""

    def __init__(self, engine: Engine, access: Access | None = None) -> None:
        self.engine = engine
        self.access = access or engine.access

    async def keep(self, content: str, at: Scope | str, agent: str = "main", **more: Any) -> Memory:
        """Keep something in a scope, a fact by default; `more` are further fields of the memory."""
        scope = Scope.parse(at) if isinstance(at, str) else at
        new = NewMemory(**{"type": "fact", "content": content} | more)
        return await self.engine.db.write(lambda tx: keep(tx, self.access, scope, agent, new))

    async def recall(self, by: Reader, question: str = "", items_max: int = 50, **more: Any) -> list[Recalled]:
        """Return what a reader recalls."""
        return await self.engine.read(lambda tx: recall(tx, self.access, by, question, items_max=items_max, **more))

    async def recalled(self, by: Reader, question: str = "", **more: Any) -> list[str]:
        """Return the texts that a reader recalls."""
        return [one.memory.content for one in await self.recall(by, question, **more)]

    async def promote(self, memory: Memory, reason: str = "all should know") -> Memory:
        """Promote a memory."""
        return await self.engine.db.write(lambda tx: promote(tx, self.access, memory, reason))

    async def forget(self, memory: Memory) -> None:
        """Forget a memory."""
        await self.engine.db.write(lambda tx: forget(tx, self.access, memory))

    async def found(self, by: Reader, memory: Memory) -> Memory:
        """Return a memory by its id, as a reader finds it."""
        return await self.engine.read(lambda tx: in_chain(tx, self.access, by, memory.id))


def counted(name: str) -> float:
    """Return how often something was counted so far."""
    return sum(sample.value for sample in METRICS.samples() if sample.name == name)
