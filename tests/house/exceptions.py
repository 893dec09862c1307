"""The exceptions to the rules, each with its reason. Remove one that no longer applies."""

ASKER = "it finds out who the caller is"
ENGINE = "the engine serves all accounts; every row it returns names its own"
SERVER = "health looks at the whole server and tells nothing of an account"
HELD = "it acts on a run that was read before, which names its account"

# Functions of a store that do not begin with `tx, access`.
STORE_SIGNATURES = {
    "carrel.access.store.bearer_of_token": ASKER,
    "carrel.access.store.bearer_of_login": ASKER,
    "carrel.access.store.account_by_slug": "an account is looked up before anyone has access to it",
    "carrel.access.store.every_account": "maintenance goes through all accounts",
    "carrel.access.store.insert_account": "no one has access to an account that does not exist yet",
    "carrel.journal.follower_store.accounts_behind": ENGINE,
    "carrel.journal.follower_store.feed_is_late": SERVER,
    "carrel.journal.follower_store.release_positions": ENGINE,
    "carrel.runs.queue_store.claim_due": ENGINE,
    "carrel.runs.queue_store.next_due": ENGINE,
    "carrel.runs.queue_store.renew_leases": ENGINE,
    "carrel.runs.queue_store.stopping_runs": ENGINE,
    "carrel.runs.queue_store.lost_runs": ENGINE,
    "carrel.runs.queue_store.expire_leases": ENGINE,
    "carrel.runs.store.expired_waits": ENGINE,
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
    "carrel.modes.auto.store.auto_runs_due": ENGINE,
    "carrel.modes.auto.store.auto_runs_left": ENGINE,
    "carrel.modes.auto.store.next_auto_due": ENGINE,
    "carrel.modes.auto.store.renew_leases": ENGINE,
    "carrel.modes.auto.store.expire_leases": ENGINE,
    "carrel.work.notice_store.run_ends_due": ENGINE,
    "carrel.work.notice_store.next_run_end_due": ENGINE,
    "carrel.work.heartbeat_store.heartbeats_due": ENGINE,
    "carrel.work.heartbeat_store.next_heartbeat_due": ENGINE,
    "carrel.delivery.extraction_store.extractions_due": ENGINE,
    "carrel.delivery.extraction_store.next_extraction_due": ENGINE,
    "carrel.goals.store.plans_noted": ENGINE,
    "carrel.goals.store.next_note_due": ENGINE,
    "carrel.search.rebuild_store.rebuilds_due": ENGINE,
    "carrel.board.ingest_store.next_ingest_due": ENGINE,
    "carrel.board.ingest_store.accounts_with_ingests": ENGINE,
    "carrel.search.store.scope_text": "it writes a condition and reads nothing",
    "carrel.runs.store.end_claimed": HELD,
    "carrel.runs.store.park_claimed": HELD,
    "carrel.runs.store.back_to_head": HELD,
    "carrel.runs.store.claimed_stop": HELD,
    "carrel.records.call_store.outside_call": "it writes an id and reads nothing",
    "carrel.runs.store.may_move": "it writes a condition and reads nothing",
    "carrel.runs.queue_store.insert_run": "the new run names its account",
    "carrel.runs.queue_store.start": "the runs name their account",
    "carrel.runs.store.bind_session": HELD,
    "carrel.runs.store.note_instructions": HELD,
    "carrel.runs.store.change_of": HELD,
    "carrel.runs.store.count_change": HELD,
    "carrel.runs.queue_store.queue_position": HELD,
}

# Files outside the stores and the storage room that hold SQL.
SQL_FILES: dict[str, str] = {}
