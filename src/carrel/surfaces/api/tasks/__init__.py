"""The endpoints of tasks."""
