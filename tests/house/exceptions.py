"""The named exceptions to the rules of the house, each with its reason. One that no longer applies must go."""

# Phrases with words that the house does not use otherwise: where they may stand, and why.
WORDS = {
    "conversation_key": (("carrel",), "conversationKey is half of a session identity on the wire"),
    "conversation_id": (("carrel",), "conversationId comes with the entries of other systems"),
    "data_received": (("carrel.main.http_limits",), "asyncio calls a protocol's method by this name"),
    "data_dir": (("carrel",), "storage.data_dir is the name of a setting"),
    "thread_bindings": (("carrel.kernel.settings",), "sessions.thread_bindings is the name of a setting"),
    "thread_id": (("carrel",), "threadId names a channel's thread on the wire"),
    "conversation": (
        ("carrel.kernel.keys", "carrel.journal", "carrel.sessions"),
        "a key's conversation is the sessionId of its events",
    ),
    "thread": (("carrel.storage",), "a thread of the operating system, in which a driver waits"),
}

ASKER = "who asks is what this finds out"
ENGINE = "the engine serves every account; each run it gets says whose it is"
HELD = "it acts on one run that was read before, and the run says whose it is"

# Functions of a store that do not begin with `tx, access`.
STORE_SIGNATURES = {
    "carrel.access.store.bearer_of_token": ASKER,
    "carrel.access.store.bearer_of_login": ASKER,
    "carrel.access.store.account_by_slug": "an account is looked up before anybody has access to it",
    "carrel.access.store.every_account": "the upkeep of the house goes through all accounts",
    "carrel.access.store.insert_account": "nobody has access to an account that does not exist yet",
    "carrel.runs.queue_store.claim_due": ENGINE,
    "carrel.runs.queue_store.next_due": ENGINE,
    "carrel.runs.queue_store.renew_leases": ENGINE,
    "carrel.runs.queue_store.stopping_runs": ENGINE,
    "carrel.runs.queue_store.lost_runs": ENGINE,
    "carrel.runs.queue_store.expire_leases": ENGINE,
    "carrel.runs.store.expired_waits": ENGINE,
    "carrel.journal.follower_store.accounts_behind": ENGINE,
    "carrel.journal.follower_store.release_positions": ENGINE,
    "carrel.outbox.webhook_store.due_webhooks": ENGINE,
    "carrel.outbox.webhook_store.next_webhook_due": ENGINE,
    "carrel.outbox.webhook_store.claim_webhooks": ENGINE,
    "carrel.outbox.webhook_store.release_webhooks": ENGINE,
    "carrel.exchanges.store.due_exchanges": ENGINE,
    "carrel.exchanges.store.next_exchange_due": ENGINE,
    "carrel.outbox.post_store.due_posts": ENGINE,
    "carrel.outbox.post_store.next_post_due": ENGINE,
    "carrel.outbox.post_store.release_posts": ENGINE,
    "carrel.modes.schedules.store.schedules_to_move": ENGINE,
    "carrel.modes.schedules.store.next_schedule_due": ENGINE,
    "carrel.runs.store.end_claimed": HELD,
    "carrel.runs.store.park_claimed": HELD,
    "carrel.runs.store.back_to_head": HELD,
    "carrel.runs.store.claimed_stop": HELD,
    "carrel.records.call_store.outside_call": "it writes an id and reads nothing",
    "carrel.runs.store.may_move": "it writes a condition and reads nothing",
    "carrel.runs.queue_store.insert_run": "the new run says whose it is",
    "carrel.runs.queue_store.start": "the runs say whose they are",
    "carrel.runs.store.bind_session": HELD,
    "carrel.runs.store.note_instructions": HELD,
    "carrel.runs.store.change_of": HELD,
    "carrel.runs.store.count_change": HELD,
    "carrel.runs.queue_store.queue_position": HELD,
}

# Files outside the stores and the storage room that hold SQL.
SQL_FILES: dict[str, str] = {}
