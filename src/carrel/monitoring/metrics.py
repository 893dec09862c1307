"""Which metrics belong to whom: every account has its own; those of the server go to the account `default`."""

from collections.abc import Callable, Iterable

from msgspec import structs

from carrel.access import Account, every_account
from carrel.journal import events_behind
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, METRICS, Access, Sample, system_access
from carrel.monitoring.store import count_live, stuck_lanes
from carrel.storage import Tx

# Reads the current values of a room above, each with the account among its labels.
Gauges = Callable[[Tx, Access], Iterable[Sample]]
_Labels = tuple[tuple[str, str], ...]
# Labels that name something of an account, and their replacements for other accounts.
_NAMES = ("agent", "session")
_ELSEWHERE = "(other accounts)"


def account_metrics(tx: Tx, access: Access, *more: Gauges) -> list[Sample]:
    """Return the metrics of one account."""
    own = [sample for sample in METRICS.samples() if sample.account_id == access.account_id]
    return _merged((*own, *_gauges(tx, access, more)), access.account_id)


def server_metrics(tx: Tx, *more: Gauges) -> list[Sample]:
    """Return the metrics of the whole server; only `default` keeps the names of its agents and sessions."""
    accounts = every_account(tx)
    gauges = (sample for account in accounts for sample in _gauges(tx, system_access(account.id), more))
    return _merged((*METRICS.samples(), *gauges), _default(accounts))


def metrics_by_account(tx: Tx, *more: Gauges) -> dict[str, list[Sample]]:
    """Return the metrics of every account by its id, and those of the whole server under the empty id."""
    accounts, everything = every_account(tx), list(METRICS.samples())
    own: dict[str, list[Sample]] = {account.id: [] for account in accounts}
    # The registry is read once, not once per account: it has the series of all of them.
    for sample in everything:
        own.get(sample.account_id, []).append(sample)
    for account_id, samples in own.items():
        gauges = _gauges(tx, system_access(account_id), more)
        samples += gauges
        everything += gauges
    merged = {account_id: _merged(samples, account_id) for account_id, samples in own.items()}
    return merged | {"": _merged(everything, _default(accounts))}


def _default(accounts: Iterable[Account]) -> str:
    return next((account.id for account in accounts if account.slug == DEFAULT_ACCOUNT_SLUG), "")


def _gauges(tx: Tx, access: Access, more: Iterable[Gauges]) -> list[Sample]:
    own = access.account_id
    found = [
        Sample(f"runs.{state}", "gauge", (("agent", agent),), count, own)
        for (state, agent), count in count_live(tx, access).items()
        if state in ("queued", "running")
    ]
    stuck = stuck_lanes(tx, access).items()
    found += [Sample("lanes.stuck", "gauge", (("agent", agent),), count, own) for agent, count in stuck]
    behind = events_behind(tx, access).items()
    found += [Sample("followers.lag.events", "gauge", (("follower", name),), n, own) for name, n in behind]
    return [*found, *(sample for read in more for sample in read(tx, access))]


def _merged(samples: Iterable[Sample], account_id: str) -> list[Sample]:
    """Return samples as the owner of an account sees them; those that then look the same are added up."""
    totals: dict[tuple[str, str, _Labels], Sample] = {}
    for sample in samples:
        labels = _shown(sample, account_id)
        key = (sample.type, sample.name, labels)
        totals[key] = _added(totals[key], sample) if key in totals else structs.replace(sample, labels=labels)
    return [totals[key] for key in sorted(totals)]


def _added(one: Sample, other: Sample) -> Sample:
    buckets = tuple((bound, n + more) for (bound, n), (_, more) in zip(one.buckets, other.buckets, strict=True))
    return structs.replace(one, value=one.value + other.value, buckets=buckets, count=one.count + other.count)


def _shown(sample: Sample, account_id: str) -> _Labels:
    elsewhere = sample.account_id != account_id
    return tuple((name, _ELSEWHERE if name in _NAMES and elsewhere else value) for name, value in sample.labels)
