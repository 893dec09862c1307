"""The gateway to a remote A2A agent."""
