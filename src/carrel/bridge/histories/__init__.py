"""Histories of other programs, read from their files as entries of the board."""
