"""Tests of the tools, called as a turn calls them."""
