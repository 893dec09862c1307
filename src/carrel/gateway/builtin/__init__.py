"""The built-in agent, which needs no model."""
