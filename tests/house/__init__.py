"""The rules of the source, as tests that read it."""
