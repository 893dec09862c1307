"""Mutants of what leaves the server: posts to channels, and webhooks."""

from tests.mutants.model import Mutant

_POSTS, _WEBHOOKS = "tests/outbox/test_posts.py", "tests/outbox/test_webhooks.py"
OUTBOX = (
    Mutant(
        "a lost lease records what became of a post",
        "outbox/post_store.py",
        'f"WHERE {_ONE} AND claim = :claim"',
        'f"WHERE {_ONE} AND :claim = :claim"',
        _POSTS,
    ),
    Mutant(
        "whoever lost the lease of a post goes on sending it",
        "outbox/posts.py",
        'return noted if is_ours and noted.state == "open" else None',
        'return noted if noted.state == "open" else None',
        _POSTS,
    ),
    Mutant(
        "a part that is sent does not renew the lease of its post",
        "outbox/posts.py",
        "parts_sent=sent, attempts=0, error=None, due_at=tx.now + _LEASE_MS)",
        "parts_sent=sent, attempts=0, error=None)",
        _POSTS,
    ),
    Mutant(
        "posts are never given up",
        "outbox/posts.py",
        "dropped = final or tx.now + delay_ms > post.created_at + limits.POSTING_HOURS_MAX * MS_PER_HOUR",
        "dropped = final",
        _POSTS,
    ),
    Mutant(
        "a post is given up a moment too early",
        "outbox/posts.py",
        "tx.now + delay_ms > post.created_at",
        "tx.now + delay_ms >= post.created_at",
        _POSTS,
    ),
    Mutant(
        "a channel that asks for a pause is not given one",
        "outbox/posts.py",
        "max(retry_delay_ms(attempts, tx.chance()), int(after_seconds * MS_PER_SECOND))",
        "retry_delay_ms(attempts, tx.chance())",
        _POSTS,
    ),
    Mutant(
        "a post overtakes the one before it",
        "outbox/post_store.py",
        "AND e.chat_address = p.chat_address AND e.due_at IS NOT NULL AND e.seq < p.seq)",
        "AND e.chat_address = p.chat_address AND e.due_at IS NOT NULL AND e.seq < p.seq AND e.due_at <= :now)",
        _POSTS,
    ),
    Mutant(
        "a starting server forgets the pauses of posts",
        "outbox/post_store.py",
        "channel = :channel AND claim IS NOT NULL AND due_at > :now",
        "channel = :channel AND due_at > :now",
        _POSTS,
    ),
    Mutant(
        "posts are pruned as soon as they have ended",
        "outbox/posts.py",
        "tx.now - limits.POSTS_KEPT_HOURS * MS_PER_HOUR",
        "tx.now",
        _POSTS,
    ),
    Mutant(
        "a replaced webhook sends everything again",
        "outbox/webhooks.py",
        "sent = same.sent_change if same else",
        "sent = 0 if same else",
        _WEBHOOKS,
    ),
    Mutant(
        "a lost lease records what became of a webhook",
        "outbox/webhook_store.py",
        'f"WHERE {_ONE} AND claim = :claim RETURNING',
        'f"WHERE {_ONE} AND :claim = :claim RETURNING',
        _WEBHOOKS,
    ),
    Mutant(
        "a failure after the lease was lost counts",
        "outbox/webhook_store.py",
        'f"WHERE {_ONE} AND claim = :claim"',
        'f"WHERE {_ONE} AND :claim = :claim"',
        _WEBHOOKS,
    ),
    Mutant(
        "webhooks are never given up",
        "outbox/webhooks.py",
        "is_last = attempt >= attempts_max",
        "is_last = False",
        _WEBHOOKS,
    ),
    Mutant(
        "one host gets every webhook at once",
        "outbox/webhooks.py",
        "        if in_flight[webhook.host] < limits.WEBHOOKS_PER_HOST_AT_A_TIME:",
        "        if True:",
        _WEBHOOKS,
    ),
    Mutant(
        "a webhook that was given up is woken by the next change",
        "outbox/webhook_store.py",
        'f"WHERE {_OF_RUN} AND given_up IS NULL"',
        'f"WHERE {_OF_RUN}"',
        _WEBHOOKS,
    ),
)
