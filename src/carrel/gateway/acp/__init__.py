"""Coding agents over the Agent Client Protocol: programs that are started, each with one session."""
