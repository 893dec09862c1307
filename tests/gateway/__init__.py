"""Tests of the room gateway, against a real HTTP server that plays a script."""
