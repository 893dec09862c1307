"""`carrel a2a`."""
