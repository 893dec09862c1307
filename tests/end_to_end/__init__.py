"""The whole product from outside: a server in a process of its own, and programs that talk to it."""
