"""The agent that needs no model."""
