"""Ids, moments, texts, redaction, metrics, retries and access."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from carrel.kernel import (
    Access,
    Code,
    Ids,
    Refusal,
    SystemClock,
    TextBuffer,
    clip,
    first_id,
    iso,
    new_secret,
    one_line,
    parse_iso,
    redact,
    secret_digest,
)
from carrel.kernel.metrics import Metrics
from carrel.runs import retry_delay_ms
from tests.harness.engine import FakeClock
from tests.requirements.mark import requirement

moments = st.integers(min_value=0, max_value=4_102_444_800_000)


@given(steps=st.lists(st.integers(min_value=-5, max_value=3), min_size=2, max_size=60), seed=st.integers(0, 99))
def test_ids_sort_in_the_order_of_creation_whatever_the_clock_does(steps: list[int], seed: int) -> None:
    clock = FakeClock()
    ids = Ids(clock, random.Random(seed))
    made = []
    for step in steps:
        clock.advance(step / 1000)
        made.append(ids.new("run"))
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@given(before=moments, after=moments)
def test_ids_of_different_moments_sort_by_their_moment(before: int, after: int) -> None:
    early, late = sorted((before, after))
    if early == late:
        return
    old = Ids(FakeClock(early), random.Random(1)).new("run")
    new = Ids(FakeClock(late), random.Random(2)).new("run")
    assert first_id("run", early) <= old < first_id("run", late) <= new


def test_an_id_is_its_prefix_and_26_unambiguous_characters() -> None:
    prefix, _, body = Ids(SystemClock(), random.Random()).new("ses").partition("_")
    assert (prefix, len(body)) == ("ses", 26)
    assert not set(body) & set("ilouILOU")


@given(moments)
@example(1_096_714_990_850)
def test_a_moment_formatted_and_parsed_is_the_same_millisecond(ms: int) -> None:
    text = iso(ms)
    assert text is not None
    assert len(text) == 24
    assert text.endswith("Z")
    assert parse_iso(text) == ms


def test_moments_are_parsed_with_any_offset_but_not_without_one() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(None) is None
    assert parse_iso("2026-01-31T13:00:00+01:00") == parse_iso("2026-01-31T12:00:00.000Z")
    for wrong in ("2026-01-31T12:00:00", "yesterday", ""):
        with pytest.raises(ValueError):
            parse_iso(wrong)


@given(st.text(max_size=60), st.integers(min_value=0, max_value=70))
def test_clipped_text_is_never_too_long_and_is_marked_where_it_was_cut(text: str, chars_max: int) -> None:
    clipped = clip(text, chars_max)
    assert len(clipped) <= chars_max
    if len(text) <= chars_max:
        assert clipped == text
    elif chars_max:
        assert clipped.endswith("…")
        assert text.startswith(clipped[:-1])


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans())))
def test_a_text_buffer_returns_the_whole_text_at_any_time(pieces: list[tuple[str, bool]]) -> None:
    buffer, whole = TextBuffer(), ""
    for piece, is_asked in pieces:
        buffer.add(piece)
        whole += piece
        assert not is_asked or buffer.text == whole
    assert buffer.text == whole


@given(st.text(alphabet="ab=-<>`# \n\r\u2028\x00[]/CLAWBOARD_CARREL_CONTEXT_BEGIN", max_size=80))
def test_a_title_stays_on_one_line_and_opens_no_section(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(
        sign in line
        for sign in ("===", "---", "<<", ">>", "```", "##", "[CLAWBOARD_CONTEXT_BEGIN]", "[CARREL_CONTEXT_BEGIN]")
    )
    assert one_line(line) == line


SECRETS = [
    f"crl_owner_{'0a' * 13}_{'f0' * 32}",
    f"crl_run_{'zz' * 13}_{'0f' * 32}",
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrst1234",
    "xoxb-1234567890-abc",
    "AKIAABCDEFGHIJKLMNOP",
    "Bearer abcdefghijklmnop.qrst",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nwithout an end",
]


@requirement("S0.x.secrets")
@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_of_known_shapes_are_redacted(secret: str) -> None:
    shown = redact(f"before {secret}")
    assert shown == "before [redacted]"


def test_ordinary_text_is_not_redacted() -> None:
    for plain in ("crl_ is our prefix", "a bearer of news", "sk-short", "-- AKIA --", "tok_0123456789"):
        assert redact(plain) == plain


class _Watched(list[object]):
    """A list that counts how many of its items were looked at."""

    seen = 0

    def __iter__(self) -> Iterator[object]:
        for item in super().__iter__():
            self.seen += 1
            yield item


def test_of_a_long_value_no_more_is_looked_at_than_is_shown() -> None:
    items = _Watched(range(1_000_000))
    shown = redact({"items": items, "text": "x" * 1_000_000}, 1_000)
    assert (len(shown), shown[:20], shown[-1]) == (1_000, '{"items": [0, 1, 2, ', "…")
    assert items.seen < 2_000
    assert redact("word " * 1_000_000, 1_000) == ("word " * 200)[:999] + "…"
    assert redact({"items": [1, 2], "password": "x"}, 1_000) == '{"items": [1, 2], "password": "[redacted]"}'


@requirement("S0.x.secrets")
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_at_the_end_of_what_is_shown_is_redacted_however_it_is_cut(secret: str) -> None:
    # What is redacted before it makes room for what comes after.
    before = f"Bearer {'a' * 300} "
    for more in range(600, 900):
        shown = redact(before + "x" * more + " " + secret + " " + "y" * 1_000, 1_000)
        assert secret[10:18] not in shown
        assert len(shown) <= 1_000


def test_a_secret_has_256_bits_and_only_its_digest_is_comparable() -> None:
    secret = new_secret()
    assert len(secret) == 64
    assert "_" not in secret
    assert secret_digest(secret) == secret_digest(secret) != secret
    assert new_secret() != secret


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


@pytest.mark.parametrize(("attempt", "bound_seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (7, 300), (50, 300)])
def test_the_delay_before_a_retry_doubles_up_to_its_limit_with_full_jitter(attempt: int, bound_seconds: int) -> None:
    assert retry_delay_ms(attempt, 0.0) == 1
    assert retry_delay_ms(attempt, 0.5) == bound_seconds * 500 + 1
    chance = random.Random(3)
    drawn = [retry_delay_ms(attempt, chance) for _ in range(400)]
    assert all(0 < delay <= bound_seconds * 1000 for delay in drawn)
    assert min(drawn) < bound_seconds * 100
    assert max(drawn) > bound_seconds * 900


def test_access_refuses_every_kind_that_is_not_listed() -> None:
    access = Access(account_id="acc_1", account_slug="default", kind="client", actor_id="tok_1")
    access.require("owner", "client")
    assert not access.is_person
    with pytest.raises(Refusal) as caught:
        access.require("owner", "user")
    assert caught.value.code == Code.FORBIDDEN
