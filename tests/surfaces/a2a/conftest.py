"""The fixture of these tests: a server with a gRPC port."""

from collections.abc import AsyncIterator

import pytest

from tests.surfaces.a2a.grpc_server import GrpcServer, open_grpc_server


@pytest.fixture
async def grpc_server(surface_url: str) -> AsyncIterator[GrpcServer]:
    """A server with a gRPC port."""
    async with open_grpc_server(surface_url) as opened:
        yield opened
