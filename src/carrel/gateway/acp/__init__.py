"""Coding agents over the Agent Client Protocol: each session has a program of its own."""
