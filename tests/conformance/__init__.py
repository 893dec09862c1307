"""The official conformance kits and clients of A2A, run against a real server: a command, no part of the suite.

The kits themselves are not here: they are checked out elsewhere, with an environment of their own, and not changed.
"""
