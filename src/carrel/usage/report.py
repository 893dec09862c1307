"""Usage reports for people: by day, agent, model, task and session, with cost."""

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType, structs

from carrel.kernel import MS_PER_DAY, Access, iso
from carrel.kernel.limits import USAGE_ROWS_MAX
from carrel.kernel.settings import PriceSettings
from carrel.sessions import clean_title, task_titles, titles_of
from carrel.storage import Tx
from carrel.usage.model import By, Tally, cost_of
from carrel.usage.store import COLUMNS, UsageFilter, usage_by

# The field of a row for each group.
_FIELDS = COLUMNS | {"session": "session_key"}


class Usage(Struct, frozen=True, kw_only=True, rename="camel"):
    """What runs used; `costUsd` is null if neither a gateway nor the settings give a price."""

    runs: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0


class UsageRow(Usage, frozen=True, kw_only=True, rename="camel"):
    """The usage of one day, agent, model, task or session, or a combination; `title` names the last."""

    day: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    task_id: str | UnsetType | None = UNSET
    session_key: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class UsageReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Usage, most tokens first, days in order; `more` means that there are more rows."""

    usage: list[UsageRow]
    total: Usage
    more: bool


def report_usage(
    tx: Tx, access: Access, wanted: UsageFilter, by: tuple[By, ...], prices: Mapping[str, PriceSettings]
) -> UsageReport:  # fmt: skip
    """Sum up the usage that the caller may see."""
    found = usage_by(tx, access, wanted, by, limit=USAGE_ROWS_MAX + 1)
    groups: dict[tuple[object, ...], Usage] = {}
    for group, model, tally in found[:USAGE_ROWS_MAX]:
        groups[group] = _added(groups.get(group), model, tally, prices)
    total: Usage | None = None
    for _, model, tally in usage_by(tx, access, wanted, (), limit=USAGE_ROWS_MAX):
        total = _added(total, model, tally, prices)
    rows = _titled(tx, access, by, [_row(by, group, used) for group, used in groups.items()])
    if "day" in by:
        rows.sort(key=lambda row: str(row.day))
    return UsageReport(usage=rows, total=total or Usage(), more=len(found) > USAGE_ROWS_MAX)


def _added(so_far: Usage | None, model: str, tally: Tally, prices: Mapping[str, PriceSettings]) -> Usage:
    """A group's sum with one model's part added; the cost becomes unknown if either is."""
    before, cost = so_far or Usage(), cost_of(model, tally, prices)
    return Usage(
        runs=before.runs + tally.runs,
        input_tokens=before.input_tokens + tally.input_tokens,
        cached_tokens=before.cached_tokens + tally.cached_tokens,
        output_tokens=before.output_tokens + tally.output_tokens,
        cost_usd=None if cost is None or before.cost_usd is None else round(before.cost_usd + cost, 6),
        seconds=round(before.seconds + tally.milliseconds / 1000, 3),
    )


def _row(by: tuple[By, ...], group: tuple[object, ...], used: Usage) -> UsageRow:
    named: dict[str, object] = {_FIELDS[word]: value for word, value in zip(by, group, strict=True)}
    if "day" in named:
        named["day"] = (iso(int(str(named["day"])) * MS_PER_DAY) or "")[:10]
    if "task_id" in named:
        named["task_id"] = named["task_id"] or None
    return UsageRow(**structs.asdict(used), **named)  # type: ignore[arg-type]


def _titled(tx: Tx, access: Access, by: tuple[By, ...], rows: list[UsageRow]) -> list[UsageRow]:
    """Give sessions, else tasks, their titles; deleted ones get none."""
    if "session" in by:
        lanes = titles_of(tx, access, [str(row.session_key) for row in rows])
        titles = {key: lane.title for key, lane in lanes.items()}
        return [structs.replace(row, title=titles.get(str(row.session_key), "Deleted session")) for row in rows]
    if "task" in by:
        ids = [str(row.task_id) for row in rows if row.task_id]
        tasks = task_titles(tx, access, ids)
        titles = {task_id: clean_title(tasks.get(task_id, "Deleted task")) for task_id in ids}
        return [structs.replace(row, title=titles[str(row.task_id)] if row.task_id else "No task") for row in rows]
    return rows
