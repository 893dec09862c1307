"""Tests of the room wire, against real sockets."""
