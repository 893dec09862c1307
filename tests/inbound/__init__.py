"""Webhooks of other programs."""
