"""The whole product from outside: a server in its own process, and clients that talk to it."""
