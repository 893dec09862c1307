"""The rules of the house, as tests that read the source."""
