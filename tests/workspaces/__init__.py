"""The room of workspaces."""
