"""The list of behaviours and the mark that binds tests to it."""
