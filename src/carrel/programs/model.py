"""Why a program cannot be used."""


class ProgramFault(Exception):
    """A program, or a server, cannot be used; the message says why, for people and models."""
