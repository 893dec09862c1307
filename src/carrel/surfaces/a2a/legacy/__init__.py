"""A2A 0.3, for older clients: its requests converted to 1.0 and the results back."""
