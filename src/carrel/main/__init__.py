"""The top of the program: settings, assembly of the server, command line. Nothing imports it."""
