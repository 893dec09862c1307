"""The layers of a context: each reads or is given what it shows, and returns its lines, the best first."""
