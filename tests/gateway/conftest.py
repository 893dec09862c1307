"""Fixtures of the gateways' tests."""

from collections.abc import AsyncIterator

import pytest

from carrel.wire import Wire
from carrel.wire.model import WireLimits
from tests.sdk_agent import remote

__all__ = ["remote", "wire"]


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """An HTTP client with small limits."""
    wire = Wire(WireLimits(response_bytes_max=100_000, drain_seconds=10))
    yield wire
    await wire.close()
