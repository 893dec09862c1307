"""What tests run against: an engine, a server in this process, or a server in a process of its own.

CONTRIBUTING.md says which to use when.
"""
