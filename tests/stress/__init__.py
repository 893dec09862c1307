"""Followers under stress on PostgreSQL: no event is missed, and nobody else's transaction holds one back."""
