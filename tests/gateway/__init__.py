"""How a turn reaches a model, against a real HTTP server that plays a script."""
