"""The endpoints of sessions."""
