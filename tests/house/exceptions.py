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
    "carrel.journal.follower_store.positions_behind": ENGINE,
    "carrel.journal.follower_store.feed_is_late": SERVER,
    "carrel.journal.follower_store.release_positions": ENGINE,
    "carrel.runs.concurrency_store.due_heads": ENGINE,
    "carrel.runs.concurrency_store.working": ENGINE,
    "carrel.runs.concurrency_store.hold_claims": "it locks a row that is of no account",
    "carrel.runs.queue_store.next_due": ENGINE,
    "carrel.runs.queue_store.renew_leases": ENGINE,
    "carrel.runs.queue_store.stopping_runs": ENGINE,
    "carrel.runs.queue_store.lost_runs": ENGINE,
    "carrel.runs.queue_store.expire_leases": ENGINE,
    "carrel.runs.unreachable_store.unreachable_gateways": ENGINE,
    "carrel.runs.unreachable_store.release_from": ENGINE,
    "carrel.runs.held_store.release_every_held": ENGINE,
    "carrel.runs.store.expired_waits": ENGINE,
    "carrel.outbox.webhook_store.due_webhooks": ENGINE,
    "carrel.outbox.webhook_store.next_webhook_due": ENGINE,
    "carrel.outbox.webhook_store.claim_webhooks": ENGINE,
    "carrel.outbox.webhook_store.release_webhooks": ENGINE,
    "carrel.outbox.post_store.due_posts": ENGINE,
    "carrel.outbox.post_store.next_post_due": ENGINE,
    "carrel.outbox.post_store.release_posts": ENGINE,
    "carrel.storage.duties.Due": ENGINE,
    "carrel.modes.schedules.store.SchedulesDue": ENGINE,
    "carrel.modes.auto.store.AutoRunsDue": ENGINE,
    "carrel.modes.auto.store.auto_runs_left": ENGINE,
    "carrel.modes.auto.store.renew_leases": ENGINE,
    "carrel.modes.auto.store.expire_leases": ENGINE,
    "carrel.delivery.extraction_store.extractions_due": ENGINE,
    "carrel.delivery.extraction_store.next_extraction_due": ENGINE,
    "carrel.goals.store.PlansNoted": ENGINE,
    "carrel.search.store.rebuilds_due": ENGINE,
    "carrel.board.ingest_store.next_ingest_due": ENGINE,
    "carrel.board.ingest_store.accounts_with_ingests": ENGINE,
    "carrel.board.classifier.store.accounts_due": ENGINE,
    "carrel.board.classifier.store.next_cycle_due": ENGINE,
    "carrel.board.classifier.store.release_cycles": ENGINE,
    "carrel.runs.store.end_claimed": HELD,
    "carrel.runs.store.park_claimed": HELD,
    "carrel.runs.store.back_to_head": HELD,
    "carrel.runs.unreachable_store.unreachable_since": HELD,
    "carrel.runs.store.wait_uncounted": HELD,
    "carrel.runs.store.claimed_stop": HELD,
    "carrel.records.call_store.outside_call": "it writes an id and reads nothing",
    "carrel.runs.store.may_move": "it writes a condition and reads nothing",
    "carrel.runs.queue_store.insert_run": "the new run names its account",
    "carrel.runs.queue_store.start": "the runs name their account",
    "carrel.runs.store.bind_session": HELD,
    "carrel.runs.store.change_of": HELD,
    "carrel.runs.store.count_change": HELD,
    "carrel.runs.queue_store.queue_position": HELD,
}

# Files outside the stores and the storage room that hold SQL.
SQL_FILES: dict[str, str] = {
    "src/carrel/bridge/openclaw_queue.py": "it looks into a file of another program, which has no accounts",
    "src/carrel/bridge/outbox.py": "it runs in other programs and has a file of its own, without accounts",
    "src/carrel/bridge/histories/openclaw.py": "it reads the database of another program",
}

ELSEWHERE = "it asks a server in a process of its own until something is there"
KILLS = "it kills servers, in processes of their own, at moments that nobody arranges"
THOUSANDS = "the limit is of thousands of rows, and a few are enough to show what happens at it"
FIXTURES = "the conformance suite asks for tools of its own, which no product has"

# Files and folders of the suite that wait by the clock or read it.
BY_THE_CLOCK: dict[str, str] = {
    "tests/chaos/": KILLS,
    "tests/openclaw/": KILLS,
    "tests/spawns/": KILLS,
    "tests/stress/": KILLS,
    "tests/postgres.py": "PostgreSQL tells nobody when it is ready",
    "tests/bridge/road.py": ELSEWHERE,
    "tests/docs/reader.py": ELSEWHERE,
    "tests/end_to_end/test_board.py": ELSEWHERE,
    "tests/end_to_end/test_without_a_model.py": ELSEWHERE,
    "tests/harness/terminal.py": "a terminal does not say that nothing more will be shown",
}

# Classes of ours that others are made from.
MADE_TO_BE_SUBCLASSED: dict[str, str] = {
    "Duty": "each duty says what is due and how it is done",
    "LeasedDuty": "each duty says what is due and how it is done",
    "Follower": "each follower says what it does with events",
    "Params": "each tool says what its parameters are",
}

# What stands in for our own code, by file and name.
COUNTED = "it does what it always does, and is only counted"
STAND_INS: dict[str, str] = {
    "tests/board/classifier/test_sorter.py: WAITING_COUNTED_MAX": THOUSANDS,
    "tests/board/test_ingests.py: INGEST_WAITING_MAX": THOUSANDS,
    "tests/bridge/test_outbox.py: WAITING_MAX": THOUSANDS,
    "tests/goals/test_goals.py: SESSION_GOALS_MAX": THOUSANDS,
    "tests/journal/test_followers.py: WAITING_COUNTED_MAX": THOUSANDS,
    "tests/search/test_ranking.py: SEARCH_MATCHES_PER_WORD_MAX": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_DOCUMENTS_IN_MEMORY_MAX": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_LOAD_ROWS": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_MATCHES_PER_WORD_MAX": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_MATCHES_PER_WORD_MIN": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_QUICK_MATCHES_MAX": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_QUICK_VECTORS_MAX": THOUSANDS,
    "tests/search/test_account_index.py: SEARCH_REMOVALS_MAX": THOUSANDS,
    "tests/storage/test_postgres.py: _NO_HANGING": "PostgreSQL itself keeps this time, and ten seconds are long",
    "tests/delivery/test_cost.py: execute": COUNTED,
    "tests/delivery/test_cost.py: execute_added": COUNTED,
    "tests/conformance/mcp_serving.py: McpEndpoint": FIXTURES,
    "tests/conformance/mcp_serving.py: FixtureEndpoint": FIXTURES,
    "tests/conformance/mcp_serving.py: FixtureProtocol": FIXTURES,
}
