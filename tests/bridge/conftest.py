"""A real server for the tests of this folder, and a road to it for each of them."""

from collections.abc import Iterator

import pytest

from tests.bridge.road import Road, road_to
from tests.harness.process import RunningServer, servers_in


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
