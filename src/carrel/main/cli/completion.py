"""`completion`: scripts with which shells complete commands, and the hidden command that they call for the words."""

import argparse
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from carrel.bridge import Client
from carrel.main.cli.arguments import joined
from carrel.main.cli.command import Command, Exit, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen
from carrel.main.cli.resource import Resource

# A person waits for this at the prompt.
_SECONDS_MAX = 1.0
_SHOWN_MAX = 100

# bash completes only what follows the last colon, and session keys have several.
_BASH = """\
_carrel() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$' \\t\\n'
    local current="${line##*[[:space:]]}"
    local -a typed
    read -ra typed <<< "$line"
    [[ "$line" == *[[:space:]] ]] && typed+=("")
    IFS=$'\\n'
    COMPREPLY=($("${typed[0]}" complete -- "${typed[@]:1}" 2> /dev/null))
    if [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
    fi
}
complete -F _carrel carrel
"""
_ZSH = """\
#compdef carrel
_carrel() {
    local -a found
    found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    [[ -n "${found[1]}" ]] && compadd -a found
}
if [[ "${funcstack[1]}" == _carrel ]]; then
    _carrel "$@"
else
    compdef _carrel carrel
fi
"""
_FISH = """\
complete -c carrel -f -a '(carrel complete -- (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

_FILES = ("FILE", "DIR")
# The objects that an argument with a metavar names.
Kinds = Mapping[str, Resource]


def commands(parser: Callable[[], argparse.ArgumentParser], resources: Iterable[Resource]) -> tuple[Command, ...]:
    """Return the commands; `parser` builds the parser that they complete for, `resources` are what it names."""
    kinds = {one.name.upper(): one for one in resources}

    def completion(args: Namespace, screen: Screen) -> None:
        screen.out.write(_SCRIPTS[args.shell])

    def complete(args: Namespace, screen: Screen) -> int:
        *typed, begun = args.words or [""]
        try:
            found = [word for word in _words(parser(), kinds, typed, begun) if word.startswith(begun)]
        except Exception:  # boundary: a prompt must never show an error
            return Exit.FAILED
        for word in found:
            screen.line(word)
        return Exit.OK

    shell = option("shell", choices=tuple(_SCRIPTS))
    lines = ("source <(carrel completion bash)", "carrel completion fish | source")
    return (
        command("completion", "print a completion script for a shell", completion, shell, common=(), examples=lines),
        # Without a summary, so that no help lists it.
        command("complete", "", complete, option("words", nargs="*"), common=()),
    )


def _words(top: argparse.ArgumentParser, kinds: Kinds, typed: Sequence[str], begun: str) -> Iterable[str]:
    """Return what may follow the typed words; `begun` is the start of the next one."""
    parser, rest = _walked(top, joined([*typed, begun]))
    # argparse has no public way to list a parser's arguments.
    flags = parser._option_string_actions
    if begun.startswith("-"):
        return [flag for flag in flags if flag.startswith("--")]
    if rest and rest[-1] in flags and flags[rest[-1]].nargs != 0:
        return _values(flags[rest[-1]], kinds, typed, begun)
    places = [action for action in parser._actions if not action.option_strings]
    taken = len(list(_without_options(rest, flags)))
    if places and places[-1].nargs in ("+", "*"):
        taken = min(taken, len(places) - 1)
    return _values(places[taken], kinds, typed, begun) if taken < len(places) else []


def _walked(top: argparse.ArgumentParser, words: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser of the typed command, and the words after it except the last, unfinished one."""
    groups = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    below = groups[0].choices if groups else {}
    if len(words) > 1 and words[0] in below:
        return _walked(below[words[0]], words[1:])
    if words[0].startswith("-") and "list" in below:
        # A noun alone lists, also with options.
        return _walked(below["list"], words)
    return top, words[:-1]


def _without_options(words: Sequence[str], flags: dict[str, argparse.Action]) -> Iterator[str]:
    """Yield the words that are neither options nor their values."""
    takes_value = False
    for word in words:
        if word.startswith("-"):
            takes_value = word in flags and flags[word].nargs not in (0, "?")
        elif takes_value:
            takes_value = False
        else:
            yield word


def _values(action: argparse.Action, kinds: Kinds, typed: Sequence[str], begun: str) -> Iterable[str]:
    if isinstance(action, argparse._SubParsersAction):
        # Those that the help lists; the others are hidden.
        return [choice.dest for choice in action._choices_actions]
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.metavar in _FILES:
        folder = begun[: begun.rfind("/") + 1]
        inside = Path(folder or ".").expanduser().iterdir()
        return [f"{folder}{path.name}{'/' if path.is_dir() else ''}" for path in inside]
    named = [kinds[word] for word in str(action.metavar).removeprefix("OTHER_").split("|") if word in kinds]
    return [word for kind in named for word in (*(["last"] if kind.order else []), *_listed(kind, typed))]


def _listed(kind: Resource, typed: Sequence[str]) -> list[str]:
    given = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    for flag in ("--url", "--token", "--config", "--data-dir"):
        given.add_argument(flag)
    server = connect(given.parse_known_args(list(typed))[0])
    with Client(server.url, server.token, timeout_seconds=_SECONDS_MAX) as client:
        rows = client.get(kind.path, {**kind.query, "limit": _SHOWN_MAX} if kind.query else {})[kind.field]
    return [str(row[kind.alias or kind.id]) for row in rows[:_SHOWN_MAX]]
