"""The dashboard's source: what is built from it, and the tools that build it."""
