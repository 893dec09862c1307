"""Commands that are one request to the server, described as data: what is sent, and how the answer is printed."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from carrel.bridge import Client, segment
from carrel.main.cli.command import Exit, Option
from carrel.main.cli.discovery import connect
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

Item = dict[str, Any]
Ask = Callable[[Client, Namespace], Any]
Show = Callable[[Any, Namespace, Screen], None]


class Table(NamedTuple):
    """A list: the field of the answer that holds its rows, and the cell of each column; a text is a row's field."""

    field: str
    columns: Mapping[str, str | Callable[[Item], object]]
    empty: str = "None."
    # Whether the ids must not be cut, because no command completes them.
    whole_ids: Callable[[Namespace], bool] = lambda _: False

    def show(self, answer: Item, args: Namespace, screen: Screen) -> None:
        """Print the rows under their headers."""
        cells = self.columns.values()
        rows = [[row.get(cell) if isinstance(cell, str) else cell(row) for cell in cells] for row in answer[self.field]]
        screen.table(tuple(self.columns), rows, empty=self.empty, whole_ids=self.whole_ids(args))


class Request(NamedTuple):
    """A command that asks the server and prints the answer, as it is with --json.

    `asks` is a method and a path, in which `{}` stands for the id of the object that an option names; or a function,
    if one request is not enough. Other options with a value, and `sends`, go into the query of a GET, else into the
    body. `show` is a table, a function, or a sentence with fields of the answer in braces. A DELETE has no answer: with
    --json its sentence, a single word, becomes the key of the name that was given.
    """

    name: str
    summary: str
    asks: str | Ask
    show: Table | str | Show
    sends: Mapping[str, object] = {}
    needs_server: bool = True
    options: tuple[Option, ...] = ()

    def takes(self, *options: Option) -> Self:
        """Return the command with its arguments."""
        return self._replace(options=options)

    def run(self, args: Namespace, screen: Screen) -> int:
        """Ask the server and print the answer."""
        with connect(args) as client:
            answer = self._answer(client, args) if isinstance(self.asks, str) else self.asks(client, args)
        if screen.as_json:
            return screen.json(answer)
        if isinstance(self.show, str):
            screen.line(self.show.format_map(answer))
        elif isinstance(self.show, Table):
            self.show.show(answer, args, screen)
        else:
            self.show(answer, args, screen)
        return Exit.OK

    def _answer(self, client: Client, args: Namespace) -> Any:
        method, _, path = str(self.asks).partition(" ")
        given = {option.field: getattr(args, option.dest) for option in self.options}
        fields = {**self.sends, **{name: value for name, value in given.items() if name and value is not None}}
        for option in self.options:
            if option.of:
                name = getattr(args, option.dest)
                answer = option.of(
                    client, name, lambda found: _sent(client, method, path.format(segment(found)), fields)
                )
                return {str(self.show).rstrip(".").lower(): name} if method == "DELETE" else answer
        return _sent(client, method, path, fields)


def _sent(client: Client, method: str, path: str, fields: Item) -> Any:
    match method:
        case "GET":
            return client.get(path, fields)
        case "POST":
            return client.post(path, fields)
        case "PATCH":
            return client.patch(path, fields)
        case _:
            return client.delete(path)


def ago(field: str) -> Callable[[Item], str]:
    """Return a cell that tells how long ago a moment was."""
    return lambda row: age(row.get(field))


def start_of(field: str) -> Callable[[Item], str]:
    """Return a cell with the start of a text, on one line."""
    return lambda row: first_line(row.get(field))


def facts(field: str) -> Show:
    """Return a function that prints all fields of one object."""
    return lambda answer, _, screen: screen.facts(answer[field].items())
