"""The fixture of these tests: the server of the tests of budgets."""

from tests.budgets.conftest import limited

__all__ = ["limited"]
