"""Counters and histograms, and the number of their series."""

from carrel.kernel.metrics import Metrics


def test_counters_add_up_and_histograms_count_up_to_each_bound() -> None:
    metrics = Metrics()
    metrics.count("runs.started.count", "acc", agent="a")
    metrics.count("runs.started.count", "acc", 2, agent="a")
    metrics.count("runs.started.count", "acc", agent="b")
    for seconds in (0.001, 0.3, 5, 4000):
        metrics.observe("runs.wait.seconds", "acc", seconds)
    a, b, histogram = metrics.samples()
    assert (a.value, a.labels, b.value) == (3, (("agent", "a"),), 1)
    assert (histogram.count, histogram.value) == (4, 4005.301)
    bounds = dict(histogram.buckets)
    assert (bounds[0.001], bounds[0.1], bounds[0.5], bounds[5], bounds[1800]) == (1, 1, 2, 3, 3)


def test_the_number_of_session_labels_is_limited() -> None:
    metrics = Metrics()
    for n in range(300):
        metrics.count("memory.blocked.count", "", session=f"s{n}")
    labels = [sample.labels for sample in metrics.samples()]
    assert len(labels) == 201
    assert (("session", "other"),) in labels


def test_labels_in_any_order_are_the_same_series() -> None:
    metrics = Metrics()
    metrics.count("x", "", a="1", b="2")
    metrics.count("x", "", b="2", a="1")
    (sample,) = metrics.samples()
    assert sample.value == 2
