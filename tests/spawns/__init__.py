"""Many spawns under random failures: every result is delivered, or visibly undelivered and can be delivered again.

`python -m tests.spawns --spawns 1000` is the long proof; the suite runs a seeded share of it on both stores.
"""
