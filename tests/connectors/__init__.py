"""Tests of the connectors, against programs that speak the protocol, well or badly."""
