"""The dashboard in a real browser, with a real server and a scripted model."""
