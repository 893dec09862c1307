"""Turns the words that people type into those the parser knows, and suggests what was probably meant."""

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from carrel.kernel import Refusal, plain_word
from carrel.main.cli.command import Exit, Failure

Verbs = Mapping[str, Collection[str]]
_SHOW = ("show", "get", "view", "describe", "info")
# Every word of a row means the first one of them that a noun has.
_SAME_VERBS = (
    ("list", "ls"),
    _SHOW,
    ("create", "add", "new", "make"),
    ("edit", "update", "change", "set"),
    ("delete", "remove", "revoke", "forget", "rm"),
    ("archive", "delete"),
    ("cancel", "stop", "kill", "abort"),
    ("rename", "mv"),
    ("disable", "pause"),
    ("enable", "resume"),
    ("message", "send", "reply"),
)
_SAME_NOUNS = {
    "config": "settings", "configuration": "settings", "conversation": "session", "chats": "sessions",
    "people": "users", "members": "users", "facts": "memory",
}  # fmt: skip
# Values that are spelled otherwise elsewhere.
_SAME_VALUES = {"canceled": "cancelled", "to_do": "todo"}
# What stops the work that an id begins with; any other name is a session.
_STOPPED = {"run_": "runs", "task_": "tasks", "auto_": "auto"}
# Hints for words that are not commands; for any other word the closest command is suggested.
_HINTS = {
    "stop": "name a run, task or session to stop; Ctrl-C or SIGTERM stops the server.",
    "restart": "Ctrl-C or SIGTERM stops the server, and `carrel up` starts it.",
    "start": "did you mean up?",
    "login": "did you mean open?",
    "export": "did you mean backup?",
}
# A group whose name begins with a command.
_BELOW_MCP = "mcp servers"


def normalized(words: Sequence[str], verbs: Verbs, lists: Collection[str]) -> list[str]:
    """Return words in the form that the parser knows; `verbs` are those of each noun, `lists` the nouns that can list.

    The noun may be in singular or plural and may follow the verb: `get runs` is `runs list`, `rm task ID` is
    `tasks delete ID`. `help X` shows the help of X, `ls` lists sessions, and a noun alone lists too.
    """
    typed = joined(words)
    if typed[:1] == ["complete"]:
        # The words are another command line, still unfinished.
        return typed
    if typed[:1] == ["help"]:
        return [*_in_our_words(joined(typed[1:]), verbs), "--help"]
    typed = ["--version"] if typed[:1] == ["version"] else _in_our_words(typed, verbs)
    if typed[:1] == ["ls"]:
        typed = ["sessions", "list", *typed[1:]]
    if typed and typed[0] in lists and (len(typed) == 1 or _is_option(typed[1])):
        typed.insert(1, "list")
    return _with_wait_last(typed)


def joined(words: Sequence[str]) -> list[str]:
    """Return words with those of a two-word group joined, as the parser knows the group."""
    return [_BELOW_MCP, *words[2:]] if " ".join(words[:2]) == _BELOW_MCP else list(words)


def _in_our_words(words: list[str], verbs: Verbs) -> list[str]:
    if not words or words[0].startswith("-"):
        return words
    first, *rest = words
    noun = _noun(first, verbs)
    if noun in verbs:
        if rest[:1] == ["help"]:
            return [noun, "--help"]
        return [noun, *([_verb(rest[0], verbs[noun]), *rest[1:]] if rest else [])]
    following = _noun(rest[0], verbs) if rest else ""
    if verbs.get(following):
        # To get or show without an id means to list.
        is_alone = len(rest) == 1 or rest[1].startswith("-")
        return [following, _verb("list" if is_alone and first in _SHOW else first, verbs[following]), *rest[1:]]
    if first == "stop" and rest and not _is_option(rest[0]):
        kind = next((kind for start, kind in _STOPPED.items() if rest[0].startswith(start)), "sessions")
        return [kind, "cancel" if kind == "runs" else "stop", *rest]
    nouns = [noun for noun, known in verbs.items() if first in known]
    nouns = nouns or [noun for noun, known in verbs.items() if _verb(first, known) in known]
    if nouns and first not in _HINTS and first != "ls":
        meant = ", ".join(f"`carrel {noun} {_verb(first, verbs[noun])}`" for noun in nouns[:3])
        more = ", …" if len(nouns) > 3 else ""
        raise Failure(Exit.USAGE, f"carrel: '{first}' needs a noun: {meant}{more}")
    return words


def _noun(word: str, verbs: Verbs) -> str:
    """Return the noun whose singular or plural a word is; any other word is returned as it is."""
    word = _SAME_NOUNS.get(word.lower(), word.lower())
    tried = (word, f"{word}s", word.removesuffix("s"), f"{word.removesuffix('y')}ies", f"{word.removesuffix('ies')}y")
    return next((one for one in tried if one in verbs), word)


def _verb(word: str, known: Collection[str]) -> str:
    if word in known:
        return word
    return next((verb for row in _SAME_VERBS if word in row for verb in row if verb in known), word)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word not in ("-h", "--help")


def _with_wait_last(words: list[str]) -> list[str]:
    """Move a --wait without seconds to the end, where it cannot take the message as its value."""
    if "--wait" not in words:
        return words
    at = words.index("--wait")
    with suppress(ValueError, IndexError):
        float(words[at + 1])
        return words
    return [*words[:at], *words[at + 1 :], "--wait"]


class HelpText(argparse.HelpFormatter):
    """Help in which texts of several lines, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviated options, and whose errors suggest what was probably meant."""

    def __init__(self, **parameters: Any) -> None:
        # An abbreviation would take `--to` for `--token`.
        super().__init__(allow_abbrev=False, **parameters)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words; an unknown option is reported with the closest match."""
        known, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: Parser = getattr(known, "parser", self)
            word = unknown[0].partition("=")[0]
            options = [flag for action in parser._actions for flag in action.option_strings]
            hint = _hint(word, options if word.startswith("-") else (), f"`{parser.prog} --help` shows what it takes.")
            parser.error(f"'{word}' is not known here; {hint}")
        return known

    def error(self, message: str) -> NoReturn:
        """Say in one sentence what is wrong, and end."""
        raise Failure(Exit.USAGE, f"{self.prog}: {message}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            known = [*action.choices, "help", "version"]
            hint = _HINTS.get(value) or _hint(value, known, f"`{self.prog} --help` lists them.")
            self.error(f"there is no command '{value}'; {hint}")
        if action.choices is not None and value not in action.choices:
            shown = "/".join(action.option_strings) or action.dest
            hint = _hint(value, action.choices, f"it is one of {', '.join(action.choices)}.")
            self.error(f"{shown} cannot be '{value}'; {hint}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Take one of several words in any spelling: `In-Progress` is `in_progress`."""
        value = super()._get_value(action, arg_string)
        if action.choices is None or value in action.choices or not isinstance(value, str):
            return value
        word = _SAME_VALUES.get(plain_word(value), plain_word(value))
        return next((one for one in action.choices if plain_word(str(one)) == word), value)


def _hint(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the closest of the known words that begins like this one as a question; else another hint."""
    meant = Refusal.nearest(word, known)
    return f"did you mean {meant}?" if meant.lstrip("-")[:1] == word.lstrip("-")[:1].lower() != "" else otherwise
