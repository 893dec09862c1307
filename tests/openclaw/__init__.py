"""The pair on a real OpenClaw: installed from the registry, set up by our own command, and walked through step by step.

`python -m tests.openclaw` is not part of the suite. Only the model behind OpenClaw is a stand-in.
"""
