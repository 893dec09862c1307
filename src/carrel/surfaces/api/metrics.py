"""Metrics of the running server: as Prometheus text, as JSON, and minute by minute over the last day.

The owner of an account sees the metrics of that account; the owner of `default`, and callers on this machine, those of
the whole server.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from logging import getLogger
from typing import Literal

from msgspec import UNSET, UnsetType
from starlette.responses import PlainTextResponse

from carrel.board import classifier_gauges
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, MS_PER_MINUTE, Access, Clock, Input, Refusal, Sample, Shape, iso
from carrel.kernel.limits import METRIC_MINUTES_MAX, METRIC_SERIES_MAX
from carrel.modes import plan_gauges
from carrel.monitoring import account_metrics, metrics_by_account, server_metrics
from carrel.storage import Database
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, endpoint

_log = getLogger("carrel.api")
_MINUTE_SECONDS = 60
# Current values that come from rooms above the one of metrics.
_GAUGES = (plan_gauges, classifier_gauges)
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
# Whose metrics: an account's id, or "" for those of the whole server.
Whose = str


class Metric(Shape, frozen=True, kw_only=True):
    """One metric; for a histogram, `value` is the sum and `count` the number of observations."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    labels: dict[str, str]
    value: float
    count: int | UnsetType = UNSET


class HistoryQuery(Input, frozen=True, kw_only=True):
    """Which metrics, and how far back."""

    names: str = ""
    minutes: int = 60


class Series(Shape, frozen=True, kw_only=True):
    """One metric over time."""

    name: str
    labels: dict[str, str]
    points: list[tuple[str | None, float]]


class Recorder:
    """Records every metric once a minute, in memory only."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._points: dict[tuple[Whose, str, tuple[tuple[str, str], ...]], deque[tuple[int, float]]] = {}

    async def record(self) -> None:
        """Record a point now and then every minute, until cancelled."""
        while True:
            try:
                await self.take()
            except Refusal:
                # The database is unavailable; this minute has no point.
                _log.warning("metrics_skipped")
            await asyncio.sleep(_MINUTE_SECONDS)

    async def take(self) -> None:
        """Record one point of every metric."""
        by_account = await self._db.long_read(lambda tx: metrics_by_account(tx, *_GAUGES))
        now = self._clock.now_ms()
        for account_id, samples in by_account.items():
            for sample in samples:
                key = account_id, sample.name, sample.labels
                if key in self._points or len(self._points) < METRIC_SERIES_MAX:
                    self._points.setdefault(key, deque(maxlen=METRIC_MINUTES_MAX)).append((now, sample.value))

    def series(self, whose: Whose, names: set[str], minutes: int) -> list[Series]:
        """Return the points of the last minutes, of the named metrics or of all."""
        since = self._clock.now_ms() - minutes * MS_PER_MINUTE
        return [
            Series(name=name, labels=dict(labels), points=[(iso(at), value) for at, value in points if at >= since])
            for (owner, name, labels), points in sorted(self._points.items())
            if owner == whose and (not names or name in names)
        ]


@endpoint("GET", "/metrics", answers={200: str}, who=OWNER, open_on_loopback=True, media="text/plain")
async def show_text(call: Call[None, NoQuery]) -> PlainTextResponse:
    """Get the metrics in the Prometheus text format."""
    lines = _prometheus(await _samples(call))
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


@endpoint("GET", "/api/metrics", "metrics", who=OWNER)
async def show_metrics(call: Call[None, NoQuery]) -> list[Metric]:
    """List the metrics by their dotted names."""
    return [
        Metric.of(sample, labels=dict(sample.labels), count=sample.count if sample.type == "histogram" else UNSET)
        for sample in await _samples(call)
    ]


@endpoint("GET", "/api/metrics/history", "series", who=OWNER)
async def show_history(call: Call[None, HistoryQuery]) -> list[Series]:
    """List the metrics of the last minutes, one point a minute."""
    recorder: Recorder = call.request.app.state.recorder
    names = {name.strip() for name in call.query.names.split(",") if name.strip()}
    minutes = max(1, min(call.query.minutes, METRIC_MINUTES_MAX))
    whose = "" if _sees_all(call.access) else call.access.account_id
    return recorder.series(whose, names, minutes)


def _sees_all(access: Access) -> bool:
    """Whether the caller is the operator: the owner of account `default`, or on this machine without a token."""
    return access.account_slug in ("", DEFAULT_ACCOUNT_SLUG)


async def _samples(call: Call[None, NoQuery]) -> list[Sample]:
    if not _sees_all(call.access):
        return await call.read(lambda tx, access: account_metrics(tx, access, *_GAUGES))
    return await call.services.db.long_read(lambda tx: server_metrics(tx, *_GAUGES))


def _prometheus(samples: Iterable[Sample]) -> Iterator[str]:
    previous = ""
    for sample in samples:
        name = "carrel_" + sample.name.replace(".", "_") + ("_total" if sample.type == "counter" else "")
        if name != previous:
            yield f"# TYPE {name} {sample.type}"
            previous = name
        if sample.type != "histogram":
            yield f"{name}{_labels(sample.labels)} {_number(sample.value)}"
            continue
        for bound, count in sample.buckets:
            yield f"{name}_bucket{_labels((*sample.labels, ('le', f'{bound:g}')))} {count}"
        yield f"{name}_bucket{_labels((*sample.labels, ('le', '+Inf')))} {sample.count}"
        yield f"{name}_sum{_labels(sample.labels)} {_number(sample.value)}"
        yield f"{name}_count{_labels(sample.labels)} {sample.count}"


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
