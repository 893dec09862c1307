"""Secrets are redacted, ordinary text is not, and long values are looked at no further than they are shown."""

from collections.abc import Iterator

import pytest

from carrel.kernel import (
    redact,
)
from tests.requirements.mark import requirement

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
