"""The test suite: it mirrors the rooms of src/carrel."""
