"""Mutants: small, named changes to the source that would break a promise. Each must be caught by the tests it names."""
