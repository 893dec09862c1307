"""What runs have used, and what that costs."""

from typing import Annotated

from msgspec import Meta, field

from carrel.kernel import MS_PER_DAY, Access, Input, invalid
from carrel.kernel.fields import Moment, Name
from carrel.kernel.limits import USAGE_DAYS_DEFAULT
from carrel.sessions import find_session
from carrel.storage import LongTx
from carrel.surfaces.api.agents import agent_id_of
from carrel.surfaces.api.endpoint import Call, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.usage import GROUPS, By, UsageFilter, UsageReport, report_usage

_WORD = f"(?:{'|'.join(GROUPS)})"
Groups = Annotated[str, Meta(max_length=64, extra_json_schema={"pattern": f"^{_WORD}(?:,{_WORD})*$"})]


class UsageQuery(Input, frozen=True, kw_only=True):
    """Which usage: the period, the grouping, and the agent, task or session."""

    since: Moment | None = field(name="from", default=None)
    until: Moment | None = field(name="to", default=None)
    by: Groups = "day"
    agent_id: Name | None = None
    task_id: Name | None = None
    session_key: Reference | None = None
    model: Name | None = None


@endpoint("GET", "/api/usage")
def read_usage(call: Call[None, UsageQuery], tx: LongTx, access: Access) -> UsageReport:
    """Sum up what runs used: tokens, time and cost, by day, agent, model, task or session, or several of them."""
    query = call.query
    until = tx.now if query.until is None else query.until
    since = until - (USAGE_DAYS_DEFAULT - 1) * MS_PER_DAY if query.since is None else query.since
    by = tuple(dict.fromkeys(_group(word.strip()) for word in query.by.split(",")))
    wanted = UsageFilter(
        since=since,
        until=until,
        agent_id=agent_id_of(tx, access, query.agent_id),
        task_id=query.task_id,
        key=None if query.session_key is None else str(find_session(tx, access, query.session_key).key),
        model=query.model,
    )
    return report_usage(tx, access, wanted, by, call.services.settings.prices)


def _group(word: str) -> By:
    if word not in GROUPS:
        raise invalid("by", f"by must be one or several of {', '.join(GROUPS)}, separated by commas.")
    return word
