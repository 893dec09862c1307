"""The room that makes HTTP requests, against real sockets."""
