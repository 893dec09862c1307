"""What is said stays in its lane, what is kept travels within spaces, and a chat is its person's."""

BUILT = {
    "I.said.lane": "A conversation entry of a lane is shown (block, tools, search inside a run, digest, topic name) in "
    "that lane alone, or in lanes of the same Task; after the classifier, digests and index have caught up too.",
    "I.said.person": "Nothing said in a person's chat is readable by another person's token on any door, nor in a run "
    "that person caused, whatever `context.recall` says.",
    "I.kept.travels": "A note, a Task's title, a promoted fact and a board Topic's name reach every lane whose spaces "
    "admit them, with that reason on the line.",
    "I.recall.space": "A lane set to `space` is sorted, recalled within its spaces and recalls them; set back to "
    "`own`, its entries leave topics, index and digests at once.",
    "I.sorted.board": "The classifier sorts only what is on the board; nothing said in a private lane is in a topic, "
    "its name or its digest, however long one waits.",
    "I.person.shares": "Account- or agent-wide `space` puts no person's chat on the board; the person's own setting, a "
    "board chat or a moved entry does, with an event.",
    "I.digest.readers": "A digest is shown only where every entry it was made from may be shown.",
    "I.chain.lane": "A run's memory chain holds a goal's and its session's scope only in lanes of that session and of "
    "that goal's Tasks' own lanes, and never for a caller who may not read that session.",
    "I.rule.one": "Predicate, SQL and marks of every visibility rule agree over random worlds on both databases.",
    "I.run.both": "A run sees at most what its agent and whoever caused it may see: receipts, history and streams of a "
    "limited caller hold no text of a hidden space.",
}

PARTIAL: dict[str, str] = {}

DEFERRED: dict[str, dict[str, str]] = {}
