"""Mutants of loops and concurrency: what is held, what counts as new, and who finds a place."""

from tests.mutants.model import Mutant

_LOOPS = "tests/loops/test_checks.py"
_CONCURRENCY = "tests/runs/test_concurrency.py"

LOOPS = (
    Mutant(
        "a loop is not held",
        "delivery/turn.py",
        "return None if found is None else lambda tx",
        "return None if found is None or True else lambda tx",
        _LOOPS,
    ),
    Mutant(
        "a cycle of several calls is not seen",
        "loops/model.py",
        "stale=self.stale + 1 if observed in self.seen else 0",
        "stale=0",
        _LOOPS,
    ),
    Mutant(
        "another result of the same call is not new",
        "loops/model.py",
        "_hash(name, calls[call], entry.content)",
        "_hash(name)",
        _LOOPS,
    ),
    Mutant(
        "what was allowed counts again",
        "loops/repeat_guard.py",
        ".allowed(tx.tick())",
        ".allowed(0)",
        _LOOPS,
    ),
    Mutant(
        "a restart asks again",
        "loops/repeat_guard.py",
        "if trace.asked_at is None else _text(tx, run, found)",
        "",
        _LOOPS,
    ),
    Mutant(
        "a person's message does not let a held session go on",
        "loops/repeat_guard.py",
        "    db.observe(RunChanged, _hear_person)\n",
        "",
        _LOOPS,
    ),
    Mutant(
        "what people ask for counts as a loop",
        "loops/repeat_guard.py",
        "    if not is_caused(run):\n        return\n",
        "",
        _LOOPS,
    ),
    Mutant(
        "agents may talk to each other for ever",
        "loops/model.py",
        "if trace.talk >= LOOP_TALK_RUNS_MAX:",
        "if False:",
        _LOOPS,
    ),
    Mutant(
        "an auto run may say the same for ever",
        "loops/model.py",
        "if trace.answers.same >= same_max:",
        "if False:",
        "tests/delivery/test_auto_turns.py -k third_equal_answer",
    ),
    Mutant(
        "one more run works at a gateway than may",
        "runs/concurrency.py",
        "self._gateways.get(gateway or self._limits.default_gateway, 0) < limit",
        "self._gateways.get(gateway or self._limits.default_gateway, 0) <= limit",
        _CONCURRENCY,
    ),
    Mutant(
        "claims on two servers do not wait for each other",
        "runs/concurrency.py",
        "        concurrency_store.hold_claims(tx)\n",
        "",
        _CONCURRENCY,
    ),
    Mutant(
        "the next run of a freed lane needs no place",
        "runs/concurrency.py",
        "        if self._slots is not None and not self._slots.take(head):\n            return False\n",
        "        if self._slots is not None:\n            self._slots.take(head)\n",
        _CONCURRENCY,
    ),
    Mutant(
        "a run that waits for another keeps its place",
        "runs/concurrency_store.py",
        "AND NOT EXISTS ({_HAS_LENT}) ",
        "",
        _CONCURRENCY,
    ),
    Mutant(
        "heads of a full gateway hold up all others",
        "runs/concurrency.py",
        "            if len(heads) < wanted:\n                break\n",
        "            break\n",
        _CONCURRENCY,
    ),
    Mutant(
        "an agent's own limit does not hold",
        "runs/concurrency.py",
        "return self.per_agent if own is None else own",
        "return self.per_agent",
        _CONCURRENCY,
    ),
)
