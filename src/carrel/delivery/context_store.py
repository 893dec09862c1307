"""The SQL of contexts: what each run was shown, when agents were last shown one, and the runs shown a memory."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from carrel.context import MEMORY, Context, Line
from carrel.kernel import Access, iso
from carrel.kernel.limits import MEMORY_READS_MAX
from carrel.runs import Claim
from carrel.storage import Table, Tx, in_list, json_column
from carrel.visibility import seen_lanes

_CONTEXTS = Table(
    "contexts",
    Context,
    key=("account_id", "run_id"),
    also=("agent_id", "at"),
    without=("lines", "scope", "recall"),
    codecs={"layers": json_column(tuple[str, ...]), "omitted": json_column(dict[str, int])},
)
_LINES = Table("context_lines", Line, key=("account_id", "run_id", "position"))


class InjectedContext(Struct, frozen=True, kw_only=True):
    """What lists show about the context of a run."""

    injected: bool = False
    layers: tuple[str, ...] = ()
    chars: int = 0
    degraded: str | None = None


class Injection(Struct, frozen=True, kw_only=True, rename="camel"):
    """When an agent was last shown a context, and how many of its runs were heard since without one."""

    agent_id: str
    last_injected_at: str | None
    runs_since: int


class MemoryRead(Struct, frozen=True, kw_only=True, rename="camel"):
    """A run that was shown a memory."""

    run_id: str
    session_key: str
    at: str | None


def insert_context(tx: Tx, access: Access, run: Claim, context: Context) -> None:
    """Record what a run is shown, line by line, even if that is nothing."""
    values = _CONTEXTS.values(context)
    tx.pipeline(_CONTEXTS.insert, access, run_id=run.id, agent_id=run.agent_id, at=tx.now, **values)
    of_run: dict[str, object] = {"account": access.account_id, "run_id": run.id}
    rows = [of_run | {"position": at} | structs.asdict(line) for at, line in enumerate(context.lines)]
    tx.run_many(_LINES.insert, rows)


def context_of(tx: Tx, access: Access, run_id: str) -> Context:
    """Return what a run is shown."""
    context = _CONTEXTS.one(tx, access, "run_id = :run_id", run_id=run_id)
    if context is None or not context.block:
        return context or Context()
    lines = _LINES.all(tx, access, "run_id = :run_id ORDER BY position", run_id=run_id)
    return structs.replace(context, lines=tuple(lines))


def contexts_of_runs(tx: Tx, access: Access, run_ids: Iterable[str]) -> dict[str, InjectedContext]:
    """Return what lists show about the contexts of several runs, by run."""
    listed, names = in_list("run", run_ids)
    if not names:
        return {}
    sql = f"SELECT run_id, {_CONTEXTS.columns} FROM contexts WHERE account_id = :account AND run_id IN ({listed})"
    rows = tx.all(sql, access, **names)
    return {
        row[0]: InjectedContext(
            injected=bool(one.block), layers=one.layers, chars=len(one.block), degraded=one.degraded
        )
        for row, one in zip(rows, _CONTEXTS.rows(row[1:] for row in rows), strict=True)
    }


def injections_of(tx: Tx, access: Access, agent_ids: Sequence[str]) -> list[Injection]:
    """Return when each of those agents was last shown a context."""
    of_agent = "FROM contexts WHERE account_id = :account AND agent_id = :agent_id"
    found = []
    for agent_id in agent_ids:
        row = tx.one(f"SELECT max(at) {of_agent} AND block <> ''", access, agent_id=agent_id)
        last = row[0] if row else None
        counted = tx.one(f"SELECT count(*) {of_agent} AND at > :last", access, agent_id=agent_id, last=last or 0)
        since = counted[0] if counted else 0
        found.append(Injection(agent_id=agent_id, last_injected_at=iso(last), runs_since=since))
    return found


def reads_of_memory(tx: Tx, access: Access, memory_id: str) -> list[MemoryRead]:
    """Return the newest runs that were shown a memory, of those whose session the caller may see."""
    seen, values = seen_lanes(tx, access)
    sql = (
        "SELECT r.id, r.key, s.sent_at FROM context_lines c "
        "JOIN runs r ON r.account_id = c.account_id AND r.id = c.run_id "
        "JOIN steps s ON s.account_id = c.account_id AND s.run_id = c.run_id AND s.n = 1 "
        "JOIN lanes l ON l.account_id = c.account_id AND l.key = r.key "
        f"WHERE c.account_id = :account AND c.kind = '{MEMORY}' AND c.id = :memory_id AND {seen} "
        "ORDER BY c.run_id DESC LIMIT :limit"
    )
    rows = tx.all(sql, access, memory_id=memory_id, limit=MEMORY_READS_MAX, **values)
    return [MemoryRead(run_id=row[0], session_key=row[1], at=iso(row[2])) for row in rows]
