"""Whose metrics are whose: every account has its own, and the whole server's belong to the account `default`."""

from collections import Counter
from collections.abc import Callable, Iterable

from carrel.access import every_account
from carrel.journal import events_behind
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, METRICS, Access, Sample, system_access
from carrel.monitoring.store import count_live, stuck_lanes
from carrel.storage import Tx

# Reads the current values of a room above, each with the account among its labels.
Gauges = Callable[[Tx, Access], Iterable[Sample]]
_Labels = tuple[tuple[str, str], ...]
# The label of a counter that belongs to one account; it is never shown.
_ACCOUNT = "account"
# Labels that name what belongs to an account, and what stands for them where that is another account.
_NAMES = ("agent", "session")
_ELSEWHERE = "(other accounts)"


def account_metrics(tx: Tx, access: Access, *more: Gauges) -> list[Sample]:
    """Return the metrics of one account."""
    own = [sample for sample in METRICS.samples() if (_ACCOUNT, access.account_id) in sample.labels]
    return _merged((*own, *_gauges(tx, access, more)), access.account_id)


def server_metrics(tx: Tx, *more: Gauges) -> list[Sample]:
    """Return the metrics of the whole server, without the names of agents and sessions of accounts but `default`."""
    samples = list(METRICS.samples())
    default = ""
    for account in every_account(tx):
        default = account.id if account.slug == DEFAULT_ACCOUNT_SLUG else default
        samples += _gauges(tx, system_access(account.id), more)
    return _merged(samples, default)


def metrics_by_account(tx: Tx, *more: Gauges) -> dict[str, list[Sample]]:
    """Return the metrics of every account by its id, and under the empty id those of the whole server."""
    own = {account.id: account_metrics(tx, system_access(account.id), *more) for account in every_account(tx)}
    return own | {"": server_metrics(tx, *more)}


def _gauges(tx: Tx, access: Access, more: Iterable[Gauges]) -> list[Sample]:
    account = (_ACCOUNT, access.account_id)
    found = [
        Sample(f"runs.{state}", "gauge", (account, ("agent", agent)), count)
        for (state, agent), count in count_live(tx, access).items()
        if state in ("queued", "running")
    ]
    stuck = stuck_lanes(tx, access).items()
    found += [Sample("lanes.stuck", "gauge", (account, ("agent", agent)), count) for agent, count in stuck]
    behind = events_behind(tx, access).items()
    found += [Sample("followers.lag.events", "gauge", (account, ("follower", name)), n) for name, n in behind]
    return [*found, *(sample for read in more for sample in read(tx, access))]


def _merged(samples: Iterable[Sample], account_id: str) -> list[Sample]:
    """Return samples as the owner of an account sees them; those that look alike then are added up."""
    plain: list[Sample] = []
    totals: Counter[tuple[str, str, _Labels]] = Counter()
    for sample in samples:
        if sample.type == "histogram":
            plain.append(sample)
        else:
            totals[sample.name, sample.type, _shown(sample.labels, account_id)] += sample.value  # type: ignore[assignment]
    counted = [Sample(name, kind, labels, value) for (name, kind, labels), value in totals.items()]  # type: ignore[arg-type]
    return sorted([*plain, *counted], key=lambda sample: (sample.type, sample.name, sample.labels))


def _shown(labels: _Labels, account_id: str) -> _Labels:
    owner = dict(labels).get(_ACCOUNT)
    return tuple(
        (name, _ELSEWHERE if name in _NAMES and owner != account_id else value)
        for name, value in labels
        if name != _ACCOUNT
    )
