"""What a benchmark gives back: figures with their yardstick, ratio and bar, and how they are printed."""

import statistics
import sys
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct


class Bar(Struct, frozen=True):
    """What a figure must reach: at least or at most `value`, of the ratio where there is a yardstick."""

    kind: Literal["at least", "at most"]
    value: float

    def holds(self, measured: float) -> bool:
        """True when the bar is reached."""
        return measured >= self.value if self.kind == "at least" else measured <= self.value


class Figure(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing that was measured; `passed` is None where there is no bar or it could not be measured."""

    benchmark: str
    name: str
    unit: str
    value: float | None = None
    yardstick: str | None = None
    yardstick_value: float | None = None
    ratio: float | None = None
    bar: Bar | None = None
    passed: bool | None = None
    note: str | None = None

    def line(self) -> str:
        """The figure as one line for people."""
        if self.value is None:
            return f"  skip  {self.name}: {self.note}"
        verdict = {True: "ok", False: "MISS", None: "-"}[self.passed]
        parts = [f"{_short(self.value)} {self.unit}"]
        if self.ratio is not None and self.yardstick_value is not None:
            parts.append(f"= {self.ratio:.3g} x {self.yardstick} ({_short(self.yardstick_value)})")
        if self.bar is not None:
            parts.append(f"[bar: {self.bar.kind} {self.bar.value:g}]")
        if self.note:
            parts.append(f"({self.note})")
        return f"  {verdict:>4}  {self.name}: {' '.join(parts)}"


def at_least(value: float) -> Bar:
    """A bar that is reached from below."""
    return Bar("at least", value)


def at_most(value: float) -> Bar:
    """A bar that must not be passed."""
    return Bar("at most", value)


def compared(
    benchmark: str,
    name: str,
    unit: str,
    pairs: Iterable[tuple[float, float]],
    *,
    yardstick: str,
    bar: Bar | None = None,
    note: str | None = None,
) -> Figure:
    """A figure from (value, yardstick) pairs that were measured in turn: medians, and the median of the ratios."""
    pairs = list(pairs)
    ratio = statistics.median(value / against for value, against in pairs)
    return Figure(
        benchmark=benchmark,
        name=name,
        unit=unit,
        value=statistics.median(value for value, _ in pairs),
        yardstick=yardstick,
        yardstick_value=statistics.median(against for _, against in pairs),
        ratio=ratio,
        bar=bar,
        passed=None if bar is None else bar.holds(ratio),
        note=note,
    )


def plain(
    benchmark: str, name: str, unit: str, value: float, *, bar: Bar | None = None, note: str | None = None
) -> Figure:
    """A figure without a yardstick."""
    passed = None if bar is None else bar.holds(value)
    return Figure(benchmark=benchmark, name=name, unit=unit, value=value, bar=bar, passed=passed, note=note)


def skipped(benchmark: str, name: str, why: str) -> Figure:
    """A figure that could not be measured here, and why."""
    return Figure(benchmark=benchmark, name=name, unit="", note=why)


def tell(text: str) -> None:
    """Say what is being measured; standard output belongs to the figures."""
    print(text, file=sys.stderr, flush=True)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
