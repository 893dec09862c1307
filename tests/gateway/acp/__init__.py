"""Coding agents: a scripted one, and the protocol's own."""
