"""OpenClaw as a model: its `/v1/responses` is strict, has tools of its own, and keeps session history."""
