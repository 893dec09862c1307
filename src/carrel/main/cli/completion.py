"""`completion`: shell completion scripts, generated from the parser."""

import argparse
from argparse import Namespace
from collections.abc import Callable

from carrel.main.cli.command import Command, Exit, option
from carrel.main.cli.output import Screen

Words = dict[str, list[str]]

_BASH = """\
_carrel() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
{known}
        esac
    done
    case "$path" in
{words}
    esac
}}
complete -o default -F _carrel carrel
"""
_ZSH = "#compdef carrel\nautoload -U +X bashcompinit && bashcompinit\n"


def command(parser: Callable[[], argparse.ArgumentParser]) -> Command:
    """Return the command; `parser` builds the parser that it describes."""

    def completion(args: Namespace, screen: Screen) -> int:
        """Print a completion script."""
        words = words_of(parser())
        screen.out.write(_fish(words) if args.shell == "fish" else (_ZSH if args.shell == "zsh" else "") + _bash(words))
        return Exit.OK

    shells = (option("shell", choices=("bash", "zsh", "fish")),)
    return Command("completion", "print a completion script for a shell", completion, shells, needs_server=False)


def words_of(parser: argparse.ArgumentParser, path: str = "") -> Words:
    """Return the words that may follow each path of commands."""
    words: Words = {path: []}
    # argparse has no public way to list a parser's arguments.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                words[path].append(name)
                words |= words_of(child, f"{path} {name}".strip())
        elif action.option_strings:
            words[path] += [flag for flag in action.option_strings if flag.startswith("--")]
        elif action.choices:
            words[path] += [str(choice) for choice in action.choices]
    return words


def _bash(words: Words) -> str:
    known = "\n".join(f'            "{_before(path)}") path="{path}" ;;' for path in words if path)
    lines = "\n".join(
        f'        "{path}") COMPREPLY=($(compgen -W "{" ".join(follow)}" -- "$cur")) ;;'
        for path, follow in words.items()
    )
    return _BASH.format(known=known, words=lines)


def _before(path: str) -> str:
    """Return the pattern bash matches for a path: the path so far, a space, the next word."""
    above, _, word = path.rpartition(" ")
    return f"{above} {word}"


def _fish(words: Words) -> str:
    lines: list[str] = []
    for path, follow in words.items():
        walked = path.split()
        inside = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in walked)
        below = [word for word in follow if not word.startswith("-")]
        if not walked:
            inside = "__fish_use_subcommand"
        elif below:
            inside += f"; and not __fish_seen_subcommand_from {' '.join(below)}"
        lines += [f"complete -c carrel -f -n '{inside}' -a '{word}'" for word in below]
        lines += [f"complete -c carrel -n '{inside}' -l {flag[2:]}" for flag in follow if flag.startswith("--")]
    return "\n".join(lines) + "\n"
