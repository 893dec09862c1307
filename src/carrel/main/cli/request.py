"""Commands that ask the server: what is sent, what a person must agree to first, and how the answer is printed."""

import json
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

from carrel.bridge import Client, segment
from carrel.main.cli.command import SERVER_OPTIONS, YES, Command, Exit, Failure, Option, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.humanize import age
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.run_results import show_replies

Item = dict[str, Any]
Cell = str | Callable[[Item], object]
Ask = Callable[[Any, Namespace], Any]
Sends = Mapping[str, object] | Callable[[Namespace], Mapping[str, object]]
Connected = Callable[[Namespace], AbstractContextManager[Any]]
NOTHING: Sends = {}
Show = Callable[[Any, Namespace, Screen], str | None]
Hint = str | Callable[[Item], str]
# For fields that have no option of their own.
SET = option("--set", "FIELD=JSON", "set any other field of the API; may be repeated", action="append", field="")


class Table(NamedTuple):
    """A list: the field of the answer that holds its rows, and the cell of each column.

    A text is a row's field: a moment is told by its age, and with `…` at its end only the start of a text is shown.
    """

    field: str
    columns: Mapping[str, Cell]
    empty: str = "None."
    # Whether the ids must not be cut, because no command completes them.
    whole_ids: Callable[[Namespace], bool] = lambda _: False

    def show(self, answer: Item, args: Namespace, screen: Screen) -> None:
        """Print the rows under their headers."""
        rows = [[_cell(cell, row) for cell in self.columns.values()] for row in answer[self.field]]
        screen.table(self.columns, rows, empty=self.empty, whole_ids=self.whole_ids(args))


def _cell(cell: Cell, row: Item) -> object:
    if not isinstance(cell, str):
        return cell(row)
    if cell.endswith("…"):
        return first_line(row.get(cell[:-1]))
    return age(row.get(cell)) if cell.endswith("At") else row.get(cell)


def request(
    name: str, summary: str, asks: str | Ask, show: str | Show, *options: Option, sends: Sends = NOTHING,
    question: Ask | None = None, hint: Hint = "", examples: tuple[str, ...] = (),
    common: tuple[Option, ...] = SERVER_OPTIONS, connected: Connected = connect,
) -> Command:  # fmt: skip
    """Describe a command that asks the server and prints the answer, as it is with --json.

    `asks` is a method and a path, in which `{}` stands for the id of the object that the first option with `of`
    names; or a function, if one request is not enough. Other options with a value, and what `sends` is or returns
    for the arguments, go into the query of a GET or DELETE, else into the body. `show` prints the answer or returns
    a sentence about it, or is one with fields of it in braces; a note for people may follow after a line break.
    `hint` says what to do next, and is noted on a terminal. A DELETE may have no answer: with --json the sentence's
    first word then becomes the key of the id. With a `question`, a person is asked first. If an option `wait` has a
    value, the replies to what was sent are waited for that many seconds, and shown instead of the answer.
    """
    sent = Request(asks, show, options, sends, question, hint, connected)
    consent = [YES] if question else []
    return command(name, summary, sent.run, *options, *consent, examples=examples, common=common)


class Request(NamedTuple):
    """What `request` describes."""

    asks: str | Ask
    show: str | Show
    options: tuple[Option, ...]
    sends: Sends
    question: Ask | None
    hint: Hint
    connected: Connected

    def run(self, args: Namespace, screen: Screen) -> int:
        """Ask the person if need be, then the server, and print the answer."""
        asks_first = self.question is not None and not args.yes
        if asks_first and not sys.stdin.isatty():
            raise Failure(Exit.USAGE, f"{args.parser.prog} asks first; pass --yes to do it without being asked.")
        with self.connected(args) as client:
            if asks_first and self.question and not screen.agrees(self.question(client, args)):
                raise Failure(Exit.FAILED, "Nothing was changed.")
            answer = self._answer(client, args) if isinstance(self.asks, str) else self.asks(client, args)
            if getattr(args, "wait", None) is not None:
                return show_replies(client, answer, args.wait, screen)
        if screen.as_json:
            return screen.json(answer)
        if isinstance(self.show, str):
            sentence: str | None = self.show.format_map(vars(args) | (answer or {}))
        else:
            sentence = self.show(answer, args, screen)
        if sentence is not None:
            line, _, note = sentence.partition("\n")
            screen.line(line)
            if note:
                screen.note(note)
        if self.hint and screen.is_terminal:
            screen.note(self.hint.format_map(answer) if isinstance(self.hint, str) else self.hint(answer))
        return Exit.OK

    def _answer(self, client: Client, args: Namespace, found: tuple[str, ...] = ()) -> Any:
        """Send the request once the ids of all objects that were named are found."""
        named = [one for one in self.options if one.of and getattr(args, one.dest) is not None]
        if len(found) < len(named):
            of, name = named[len(found)].of, getattr(args, named[len(found)].dest)
            assert of is not None, "the options were chosen by it"
            return of(client, name, lambda one: self._answer(client, args, (*found, one)))
        for one, value in zip(named, found, strict=True):
            # What prints the answer knows the whole id as well.
            setattr(args, one.dest, value)
        method, _, path = str(self.asks).partition(" ")
        ids = dict(zip((one.field for one in named), found, strict=True))
        if "{}" in path:
            path = path.format(segment(ids.pop(named[0].field)))
        sent = self.sends if isinstance(self.sends, Mapping) else self.sends(args)
        fields = {**sent, **given_fields(self.options, args), **ids}
        if method == "PATCH" and not fields:
            example = next(one for one in self.options if one.flags[0].startswith("-"))
            raise Failure(Exit.USAGE, f"Nothing to change; name a field, e.g. {example.flags[0]} {example.shown}.")
        if method != "DELETE":
            return getattr(client, method.lower())(path, fields)
        first_word = re.split(r"\W", str(self.show), maxsplit=1)[0]
        return client.delete(path + (f"?{urlencode(fields)}" if fields else "")) or {first_word.lower(): found[0]}


def given_fields(options: tuple[Option, ...], args: Namespace) -> Item:
    """Return the fields of a request that options and `--set` give."""
    values = {one.field: getattr(args, one.dest) for one in options if one.field and not one.of}
    fields = {name: value for name, value in values.items() if value is not None}
    for text in getattr(args, "set", None) or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise Failure(Exit.USAGE, f"--set takes FIELD=VALUE, not {text}.")
        with suppress(ValueError):
            value = json.loads(value)
        fields[name] = value
    return fields
