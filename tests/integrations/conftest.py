"""A real server for the tests of this folder, and a road to it for each of them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.road import Road, road_to
from tests.harness.process import RunningServer, servers_in
from tests.integrations.openclaw import Host


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that sorts nothing by itself."""
    with servers_in(tmp_path_factory.mktemp("served")) as start:
        yield start(CARREL_CLASSIFIER__MODE="off")


@pytest.fixture
def board(served: RunningServer) -> Iterator[Road]:
    """The road to an empty board."""
    with road_to(served) as road:
        yield road


@pytest.fixture
def host_of(board: Road, tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Start OpenClaw with the plugin, with a configuration of it and an environment."""
    started: list[Host] = []

    def start(environment: Mapping[str, str] | None = None, **config: Any) -> Host:
        started.append(Host(board, tmp_path / "queue.sqlite", environment or {}, **config))
        return started[-1]

    yield start
    for host in started:
        host.stop()


@pytest.fixture
def host(host_of: Callable[..., Host]) -> Host:
    """OpenClaw with the plugin as it is by default."""
    return host_of()
