"""Chaos: a real server under load is killed again and again; afterwards everything it promised is looked up.

`python -m tests.chaos --rounds N` runs as many rounds as asked; the suite runs a few on each store.
"""
