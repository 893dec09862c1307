"""The named exceptions to the rules of the house, each with its reason. One that no longer applies must go."""

# Phrases with words that the house does not use otherwise: where they may stand, and why.
WORDS = {
    "conversation_key": (("carrel",), "conversationKey is half of a session identity on the wire"),
    "conversation_id": (("carrel",), "conversationId comes with the entries of other systems"),
    "data_dir": (("carrel",), "storage.data_dir is the name of a setting"),
    "thread_id": (("carrel",), "threadId names a channel's thread on the wire"),
    "conversation": (
        ("carrel.kernel.keys", "carrel.journal", "carrel.sessions"),
        "a key's conversation is the sessionId of its events",
    ),
    "thread": (("carrel.storage",), "a thread of the operating system, in which a driver waits"),
}

# Functions of a store that do not begin with `tx, access`.
STORE_SIGNATURES = {
    "carrel.access.store.bearer_of_token": "who asks is what this finds out",
    "carrel.access.store.bearer_of_login": "who asks is what this finds out",
    "carrel.access.store.account_by_slug": "an account is looked up before anybody has access to it",
    "carrel.access.store.every_account": "the upkeep of the house goes through all accounts",
    "carrel.access.store.insert_account": "nobody has access to an account that does not exist yet",
    "carrel.runs.store.claim": "the dispatcher works for every account; the claimed run says whose it is",
}

# Files outside the stores and the storage room that hold SQL.
SQL_FILES: dict[str, str] = {}
