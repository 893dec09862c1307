"""A real server for the tests of this folder, and a road to it for each of them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.road import Road
from tests.integrations.openclaw import Host


@pytest.fixture
def host_of(road: Road, tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Start OpenClaw with the plugin, with a configuration of it and an environment."""
    started: list[Host] = []

    def start(environment: Mapping[str, str] | None = None, **config: Any) -> Host:
        started.append(Host(road, tmp_path / "queue.sqlite", environment or {}, **config))
        return started[-1]

    yield start
    for host in started:
        host.stop()


@pytest.fixture
def host(host_of: Callable[..., Host]) -> Host:
    """OpenClaw with the plugin as it is by default."""
    return host_of()
