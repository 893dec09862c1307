"""Fixtures of the exchanges' tests: the server of the turns' tests."""

from tests.delivery.conftest import server

__all__ = ["server"]
