"""The outermost room: settings, assembly of the server, command line. Nothing imports it."""
