"""The OPT extension: objectives, plans and plan tasks, which are the goals, plans and tasks of this server.

`methods` are its JSON-RPC methods, `hints` what a message says in its metadata.
"""
