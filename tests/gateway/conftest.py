"""Fixtures of the gateways' tests."""

from collections.abc import AsyncIterator

import pytest

from carrel.wire import Wire, WireLimits


@pytest.fixture
async def wire(anyio_backend: str) -> AsyncIterator[Wire]:
    """An HTTP client with small limits."""
    wire = Wire(WireLimits(response_bytes_max=100_000, drain_seconds=10))
    yield wire
    await wire.close()
