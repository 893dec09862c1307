"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator

import httpx
import pytest

from tests.harness.process import RunningServer


@pytest.fixture
def client(running: RunningServer) -> Iterator[httpx.Client]:
    with running.client() as opened:
        yield opened
