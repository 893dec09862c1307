"""The official A2A conformance kits and clients against a real server: a command, not part of the test suite.

The kits are not included: check them out elsewhere, unmodified, each with its own environment.
"""
