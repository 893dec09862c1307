"""A2A: sends, gets and lists over HTTP beside the official SDK's own server, both answering at once, on the same disk.

The figures are requests for each second of the server's processor time, so that neither the client nor a busy machine
decides; the clock's own rates and the latencies stand beside them. Both servers run at the same time, each in a process
of its own, and are asked in turn.
"""

from bench.a2a.figures import measure
from bench.a2a.proofs import measure_load

__all__ = ["measure", "measure_load"]
