"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.running_server import RunningServer, Start, reaching, servers_in
from tests.scripted_gateway import ScriptedGateway


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with ScriptedGateway() as running:
        yield running


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers on this test's own folder."""
    with servers_in(tmp_path) as starting:
        yield starting


@pytest.fixture
def server(start: Start, gateway: ScriptedGateway) -> RunningServer:
    """A server whose agents reach the scripted gateway."""
    return start(**reaching(gateway))


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened
