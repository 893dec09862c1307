"""The fixture of these tests: the desk of the tests of tasks."""

from tests.work.conftest import desk

__all__ = ["desk"]
