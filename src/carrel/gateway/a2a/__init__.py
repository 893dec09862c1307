"""A remote agent behind A2A."""
