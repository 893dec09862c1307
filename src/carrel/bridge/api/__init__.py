"""The API of a server as both clients see it: requests, results and what follows what; nothing here reads or writes."""
