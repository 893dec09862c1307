"""A2A: sends, gets and lists over HTTP compared with the official SDK's own server, with agents that reply at once.

The figures are requests per second of the server's CPU time, so that neither the client nor a busy machine affects
them; rates by the clock and latencies are shown next to them. Both servers run at the same time on the same disk, each
in its own process, and take turns.
"""

from bench.a2a.figures import measure
from bench.a2a.proofs import measure_load

__all__ = ["measure", "measure_load"]
