"""Mutants of webhooks in: who is believed, what is done once, and what strangers' words may look like."""

from tests.mutants.model import Mutant

_SIGNATURES = "tests/inbound/test_signatures.py"
_DELIVERIES = "tests/inbound/test_deliveries.py"
_EFFECTS = "tests/inbound/test_effects.py"
_OVERVIEW = "tests/inbound/test_overview.py"

INBOUND = (
    Mutant(
        "any signature will do",
        "inbound/kinds.py",
        "if hmac.compare_digest(given.strip().encode(), expected.encode()):",
        "if given:",
        _SIGNATURES,
    ),
    Mutant(
        "an old signature is as good as a new one",
        "inbound/kinds.py",
        "if abs(now_ms - sent_ms) <= _AGE_MS:",
        "if sent_ms <= now_ms:",
        _SIGNATURES,
    ),
    Mutant(
        "Slack's time is not signed",
        "inbound/kinds.py",
        "b'v0:' + stamp.encode() + b':' + raw",
        "b'v0::' + raw",
        _SIGNATURES,
    ),
    Mutant(
        "a signed body is done again under another id",
        "inbound/store.py",
        "(sender_id = :sender_id OR digest = :digest)",
        "(sender_id = :sender_id)",
        _DELIVERIES,
    ),
    Mutant(
        "GitHub's bodies have no digest",
        "inbound/kinds.py",
        '"Bot",\n            payload=payload,\n            digest=digest,',
        '"Bot",\n            payload=payload,\n            digest=None,',
        _DELIVERIES,
    ),
    Mutant(
        "a delivery that was carried out is repeated",
        "inbound/deliveries.py",
        'if delivery.outcome == "done":',
        'if delivery.outcome == "never":',
        _DELIVERIES,
    ),
    Mutant(
        "what a failed delivery has begun stays",
        "inbound/deliveries.py",
        "tx.attempt(lambda: carry_out(tx, access, webhook, arrival, rendered, rules))",
        "carry_out(tx, access, webhook, arrival, rendered, rules)",
        _DELIVERIES,
    ),
    Mutant(
        "the second delivery about a new thing fails",
        "inbound/deliveries.py",
        "_TRIES = 2",
        "_TRIES = 1",
        _DELIVERIES,
    ),
    Mutant(
        "bots are heard",
        "inbound/webhooks.py",
        "if arrival.by_bot and not self.settings.bots:",
        "if arrival.by_bot and self.settings.bots:",
        _EFFECTS,
    ),
    Mutant(
        "every event is taken up",
        "inbound/webhooks.py",
        "if not any(fnmatchcase(event, known)",
        "if not self.events and any(fnmatchcase(event, known)",
        _EFFECTS,
    ),
    Mutant(
        "only the first line of a stranger is quoted",
        "inbound/deliveries.py",
        'return "\\n".join(f"> {line}".rstrip() for line in text.splitlines())',
        'return f"> {text}"',
        _EFFECTS,
    ),
    Mutant(
        "a thread is the same for every webhook",
        "inbound/deliveries.py",
        'about = f"{webhook.actor_id}\\n{rendered.thread}"',
        'about = "thread"',
        _EFFECTS,
    ),
    Mutant(
        "every account's owner sees every webhook",
        "inbound/webhooks.py",
        "if webhook.settings.account == slug]",
        "if webhook.settings.account]",
        _OVERVIEW,
    ),
    Mutant(
        "deliveries are kept for ever",
        "inbound/store.py",
        "AND received_at < :old LIMIT :limit",
        "AND received_at < :old AND 1 = 0 LIMIT :limit",
        _DELIVERIES,
    ),
)
