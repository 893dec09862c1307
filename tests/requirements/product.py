"""What holds everywhere in the product: receipts, accounts, both databases, start and stop."""

BUILT = {
    "P.receipt": "Every run keeps a receipt: instructions, input, tools offered, and why each context item is there.",
    "P.receipt.compare": "Two receipts can be compared: what was added, removed and kept.",
    "P.receipt.true": "A receipt equals byte for byte what the gateway received; credentials are left out.",
    "P.nomodel": "Without a model everything works, and equal input gives equal output.",
    "P.tool.once": "Every tool has one definition: name, schema, effect and permission.",
    "P.tool.ask": "A tool listed in tools.ask acts only after a person approved that very call, also after a restart.",
    "P.account.keys": "The account leads every primary key and is part of every foreign key between account tables.",
    "P.account.wall": "No read or write on any surface crosses into another account.",
    "P.rights": "Every endpoint, tool and A2A method answers exactly the kinds of tokens its row of rights names.",
    "P.view.journal": "Every view of the journal shows the same entry with the same id and text.",
    "P.engine.two": "Everything works on SQLite and PostgreSQL; several processes never run two runs of one lane.",
    "P.door": "Every message enters through deliver(); no surface can skip policy, limits or provenance.",
    "P.settings": "Settings come from environment, file or default; an unknown name stops the start with a suggestion.",
    "P.waiting": "A run that waits for a person is listed, can be answered or cancelled, and expires after 7 days.",
    "P.absent": "Document tree, memory map and server-side drafts are not offered, and nothing mentions them.",
    "P.stop": "A graceful stop refuses new runs with 503 and lets running turns end within server.drain_seconds.",
    "P.kill": "Killing the process at any point loses no accepted message and repeats no write tool call.",
}

# What is still open of ids in BUILT.
PARTIAL: dict[str, str] = {
    "P.nomodel": "search, allocation and context, once they exist.",
    "P.view.journal": "the board, search and the timeline of a task, once they exist.",
    "P.settings": "the settings of the parts that do not exist yet.",
}

DEFERRED: dict[str, dict[str, str]] = {}
