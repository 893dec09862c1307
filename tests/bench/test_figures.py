"""Bars, ratios and the check of stored events; a benchmark that cannot fail proves nothing."""

from bench.figures import at_least, at_most, compared, plain, skipped
from bench.two_workers import faults_in


def test_the_ratio_is_the_median_of_the_pairs_and_decides() -> None:
    pairs = [(10.0, 20.0), (9.0, 10.0), (1.0, 10.0)]
    reached = compared("lanes", "runs", "runs/s", pairs, yardstick="commits", bar=at_least(0.5))
    missed = compared("lanes", "runs", "runs/s", pairs, yardstick="commits", bar=at_least(0.51))
    assert (reached.ratio, reached.passed, missed.passed) == (0.5, True, False)
    assert "MISS" in missed.line()


def test_a_bar_may_also_be_an_upper_end() -> None:
    assert plain("idle", "ready", "s", 3, bar=at_most(3)).passed
    assert plain("idle", "ready", "s", 3.1, bar=at_most(3)).passed is False


def test_what_could_not_be_measured_neither_passes_nor_fails() -> None:
    figure = skipped("lanes", "a peer", "it is not here")
    assert figure.passed is None
    assert "it is not here" in figure.line()


def test_overlap_and_broken_order_are_found_in_events() -> None:
    place = {"a": 1, "b": 2}
    fine = [("key", "run.started", "a"), ("key", "run.completed", "a"), ("key", "run.started", "b")]
    overlap = [("key", "run.started", "a"), ("key", "run.started", "b")]
    turned = [("key", "run.started", "b"), ("key", "run.completed", "b"), ("key", "run.started", "a")]
    assert faults_in(list(fine), place) == []
    assert faults_in(list(overlap), place) == ["b started beside a"]
    assert faults_in(list(turned), place) == ["key out of order"]
