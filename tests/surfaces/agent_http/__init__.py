"""Tools over plain HTTP."""
