"""Mutants of the engine: order, fences, leases, limits, the feed, redaction and the send policy."""

from tests.mutants.model import Mutant

_QUEUE = "tests/runs/test_delivering.py tests/runs/test_lanes.py"
_CLAIMS = "tests/runs/test_claims.py"
_HORIZON = "tests/storage/test_postgres_store.py"

ENGINE = (
    Mutant(
        "the horizon trusts the newest number",
        "storage/horizon.py",
        "newest if held is None else min(newest, held)",
        "newest",
        _HORIZON,
    ),
    Mutant(
        "the lock of a write names a number above the first that it draws",
        "storage/horizon.py",
        "SELECT pg_advisory_xact_lock_shared({_FIRST} + {_NEWEST})",
        "SELECT pg_advisory_xact_lock_shared({_FIRST} + {_NEWEST} + 1000)",
        _HORIZON,
    ),
    Mutant(
        "a write of a hanging server holds followers back for good",
        "storage/postgres.py",
        "            connection.execute(_NO_HANGING)\n",
        "",
        _HORIZON,
    ),
    Mutant(
        "a long read trusts numbers that it cannot see",
        "storage/postgres.py",
        "        return self.settled\n",
        "        return self._horizon.look(self._connection)\n",
        _HORIZON,
    ),
    Mutant(
        "a cursor of a faster server is reset by a slower one",
        "journal/changes.py",
        "if ahead and store.any_event_after(tx, access, after - 1):",
        "if False:",
        _HORIZON,
    ),
    Mutant(
        "a lost claim still writes",
        "runs/claims.py",
        "if stop is None or stop[0] is not None:",
        "if stop is not None and stop[0] is not None:",
        f"{_CLAIMS} tests/delivery",
    ),
    Mutant(
        "a turn goes on after it was asked to stop",
        "runs/claims.py",
        "if stop is None or stop[0] is not None:",
        "if stop is None:",
        f"{_CLAIMS} tests/delivery",
    ),
    Mutant(
        "a lost claim settles its run",
        "runs/outcomes.py",
        "    if stop is None:\n        return None\n",
        "    if stop is None:\n        return True\n",
        f"{_CLAIMS} tests/runs/test_dispatcher.py tests/runs/test_moves.py",
    ),
    Mutant(
        "a lease never expires",
        "runs/leases.py",
        "(run.lease_until or 0) > tx.now",
        "(run.lease_until or 0) >= 0",
        f"{_CLAIMS} tests/runs/test_dispatcher.py",
    ),
    Mutant(
        "a lost run whose tools changed something is repeated",
        "runs/leases.py",
        "elif run.wanted_end is None and has_written(tx, run.access, run.id) and not",
        "elif False and not",
        "tests/delivery tests/surfaces/agent_http/test_run_tokens.py",
    ),
    Mutant(
        "a lost run is rescued without end",
        "runs/leases.py",
        "elif run.attempt >= run.attempts_max + (run.wanted_end is not None):",
        "elif False:",
        f"{_CLAIMS} tests/runs/test_dispatcher.py",
    ),
    Mutant(
        "the newest of a lane is claimed first",
        "runs/queue_store.py",
        "state = 'queued' ORDER BY seq LIMIT 1\"",
        "state = 'queued' ORDER BY seq DESC LIMIT 1\"",
        f"{_CLAIMS} {_QUEUE}",
    ),
    Mutant(
        "a message sent twice is two runs",
        "runs/queue.py",
        "        if known is not None:\n            return known\n",
        "",
        _QUEUE,
    ),
    Mutant(
        "a lane takes one message too many",
        "runs/queue.py",
        "if position > rules.runs.lane_queue_max:",
        "if position > rules.runs.lane_queue_max + 1:",
        f"{_QUEUE} tests/surfaces/api/test_delivery_rules.py",
    ),
    Mutant(
        "a disabled agent takes messages",
        "runs/queue.py",
        "    if not enabled:\n        raise Refusal(Code.FORBIDDEN",
        "    if False:\n        raise Refusal(Code.FORBIDDEN",
        f"{_QUEUE} tests/surfaces/api/test_runs.py",
    ),
    Mutant(
        "a message may be of any length",
        "kernel/messages.py",
        "if len(message.text) > MESSAGE_CHARS_MAX:",
        "if False:",
        f"{_QUEUE} tests/surfaces/api",
    ),
    Mutant(
        "an allow rule beats a deny rule",
        "sessions/send_policy.py",
        '    if "deny" in matching:\n        return False\n',
        "",
        "tests/sessions/test_send_policy.py",
    ),
    Mutant(
        "a session's own send policy is ignored",
        "sessions/send_policy.py",
        "    if override is not None:\n        return override",
        "    if False:\n        return override",
        "tests/sessions/test_send_policy.py",
    ),
    Mutant(
        "our own tokens are shown",
        "kernel/secret_filter.py",
        'r"crl_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]+"',
        'r"crl_never"',
        "tests/kernel/test_values.py",
    ),
    Mutant(
        "private keys are shown",
        "kernel/secret_filter.py",
        '    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\\Z)",\n',
        '    r"",\n',
        "tests/kernel/test_values.py",
    ),
    Mutant(
        "a follower that lost its lease writes",
        "journal/followers.py",
        "            raise _LeaseLost\n",
        "            pass\n",
        "tests/journal",
    ),
    Mutant(
        "a follower skips the event after a page",
        "journal/followers.py",
        "cursor = events[-1].seq if events else position.cursor",
        "cursor = events[-1].seq + 1 if events else position.cursor",
        "tests/journal",
    ),
)
