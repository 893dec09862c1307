"""The layers of a context: each reads or receives its material, and returns its lines, best first."""
