"""What people call commands: nouns in singular and plural, and the verbs of other programs."""

from collections.abc import Collection, Mapping

# Every word of a row means the first one of them that a group has.
_SAME_VERBS = (
    ("list", "ls"),
    ("show", "get", "view", "describe", "info"),
    ("create", "add", "new", "make"),
    ("update", "edit", "change", "set"),
    ("delete", "remove", "revoke", "forget", "rm"),
    ("archive", "delete"),
    ("cancel", "stop", "kill", "abort"),
    ("rename", "mv"),
    ("disable", "pause"),
    ("enable", "resume"),
    ("message", "send", "reply"),
)
_SAME_NOUNS = {"config": "settings", "configuration": "settings", "conversation": "session", "chats": "sessions"}
# Values that are spelled otherwise elsewhere.
SAME_WORDS = {"canceled": "cancelled", "to_do": "todo"}
# Hints for words that are not commands; for any other word the closest command is suggested.
HINTS = {
    "models": "`carrel connect` connects one, and `carrel agents` shows which one each agent uses.",
    "model": "`carrel connect` connects one, and `carrel agents` shows which one each agent uses.",
    "stop": "`carrel runs cancel` and `carrel tasks stop` stop work; Ctrl-C or SIGTERM stops the server.",
    "restart": "Ctrl-C or SIGTERM stops the server, and `carrel up` starts it.",
    "start": "did you mean up?",
    "login": "did you mean open?",
    "export": "did you mean backup?",
}


def spelled(words: list[str], verbs: Mapping[str, Collection[str]]) -> list[str]:
    """Return a command line in the program's own words; `verbs` are those of each noun, none for a one-word command.

    The noun may follow the verb: `get runs` is `runs list`, and `rm task ID` is `tasks delete ID`.
    """
    if not words:
        return words
    if words == ["version"]:
        return ["--version"]
    noun = noun_meant(words[0], verbs)
    if noun in verbs:
        return [noun, *_with_verb(words[1:], verbs[noun])]
    following = noun_meant(words[1], verbs) if len(words) > 1 else ""
    if verbs.get(following):
        return [following, *_with_verb([_listing(words), *words[2:]], verbs[following])]
    return words


def noun_meant(word: str, verbs: Mapping[str, Collection[str]]) -> str:
    """Return the noun whose singular or plural a word is; any other word is returned as it is."""
    word = _SAME_NOUNS.get(word, word)
    tried = (word, f"{word}s", word.removesuffix("s"), f"{word.removesuffix('y')}ies", f"{word.removesuffix('ies')}y")
    return next((one for one in tried if one in verbs), word)


def _listing(words: list[str]) -> str:
    """Return the verb before a noun: to get or show without an id means to list."""
    is_alone = len(words) == 2 or words[2].startswith("-")
    return "list" if is_alone and words[0] in _SAME_VERBS[1] else words[0]


def _with_verb(words: list[str], known: Collection[str]) -> list[str]:
    if not words or not known or words[0] in known:
        return words
    rows = [row for row in _SAME_VERBS if words[0] in row]
    meant = next((verb for row in rows for verb in row if verb in known), words[0])
    return [meant, *words[1:]]
