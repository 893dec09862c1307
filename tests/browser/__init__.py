"""The dashboard as a person uses it: a real browser, a real server, and a model that plays a script."""
