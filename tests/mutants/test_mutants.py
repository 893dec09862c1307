"""The catalog of mutants stays applicable; `python -m tests.mutants` shows that each is caught."""

from tests.mutants.catalog import MUTANTS
from tests.mutants.model import fault_of


def test_every_mutant_can_be_applied_and_names_tests_that_exist() -> None:
    faults = [fault for fault in map(fault_of, MUTANTS) if fault is not None]
    assert not faults, "\n".join(faults)


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
