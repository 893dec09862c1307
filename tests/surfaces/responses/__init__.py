"""Open Responses: creating, streaming and continuing responses."""
