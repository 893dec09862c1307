"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator

import httpx
import pytest

from tests.harness.process import RunningServer, Start, reaching
from tests.scripted_gateway import ScriptedGateway


@pytest.fixture
def server(start: Start, gateway: ScriptedGateway) -> RunningServer:
    """A server whose agents reach the scripted gateway."""
    return start(**reaching(gateway))


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened
