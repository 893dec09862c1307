"""Turns the words that people type into those the parser knows, and suggests what was probably meant."""

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from carrel.kernel import Refusal, plain_word
from carrel.main.cli.command import Exit, Failure
from carrel.main.cli.spellings import HINTS, SAME_WORDS, spelled

# A group whose name begins with a command.
_BELOW_MCP = "mcp servers"


def arranged(words: Sequence[str], *, lists: Iterable[str], verbs: Mapping[str, Collection[str]]) -> list[str]:
    """Return words in the form that the parser knows; `lists` are the groups that can list, `verbs` those of each noun.

    `help X` shows the help of X, `ls` lists sessions or the noun that follows, and a group alone lists too.
    """
    typed = list(words)
    if typed[:1] == ["complete"]:
        # The words are another command line, still unfinished.
        return typed
    if typed[:1] == ["help"]:
        return [*spelled(joined(typed[1:]), verbs), "--help"]
    typed = spelled(joined(typed), verbs)
    if typed[:1] == ["ls"]:
        typed = ["sessions", "list", *typed[1:]]
    if typed and typed[0] in lists and (len(typed) == 1 or _is_option(typed[1])):
        typed.insert(1, "list")
    return _with_wait_last(typed)


def joined(words: Sequence[str]) -> list[str]:
    """Return words with those of a two-word group joined, as the parser knows the group."""
    return [_BELOW_MCP, *words[2:]] if " ".join(words[:2]) == _BELOW_MCP else list(words)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word not in ("-h", "--help")


def _with_wait_last(words: list[str]) -> list[str]:
    """Move a --wait without seconds to the end, where it cannot take the message as its value."""
    if "--wait" not in words:
        return words
    at = words.index("--wait")
    if at + 1 < len(words) and _is_number(words[at + 1]) and len(words) > at + 1:
        return words
    return [*words[:at], *words[at + 1 :], "--wait"]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


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
            meant = Refusal.nearest(word, options) if word.startswith("-") else ""
            hint = f"did you mean {meant}?" if meant else f"`{parser.prog} --help` shows what it takes."
            parser.error(f"'{word}' is not known here; {hint}")
        return known

    def error(self, message: str) -> NoReturn:
        """Say in one sentence what is wrong, and end."""
        raise Failure(Exit.USAGE, f"{self.prog}: {message}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            meant = Refusal.nearest(value, action.choices)
            hint = f"did you mean {meant}?" if meant else f"`{self.prog} --help` lists them."
            self.error(f"there is no command '{value}'; {HINTS.get(value, hint)}")
        if action.choices is not None and value not in action.choices:
            shown, meant = "/".join(action.option_strings) or action.dest, Refusal.nearest(value, action.choices)
            hint = f"did you mean {meant}?" if meant else f"it is one of {', '.join(action.choices)}."
            self.error(f"{shown} cannot be '{value}'; {hint}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Take one of several words in any spelling: `In-Progress` is `in_progress`."""
        value = super()._get_value(action, arg_string)
        if action.choices is None or value in action.choices or not isinstance(value, str):
            return value
        word = SAME_WORDS.get(plain_word(value), plain_word(value))
        return next((one for one in action.choices if plain_word(str(one)) == word), value)
