"""The objects of the API as a table of commands: where each kind is found, its columns, and what can be done to it."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from carrel.bridge import Client, Refused, segment
from carrel.kernel import Refusal
from carrel.main.cli.command import Command, Exit, Failure, Option, only, option, unknown
from carrel.main.cli.output import Screen
from carrel.main.cli.request import NOTHING, SET, Ask, Cell, Hint, Item, Sends, Show, Table, request

_PAGES_MAX = 5
MAIN = "main"
IN_SESSION = option("--session", "SESSION", "session key (default: main)", default=MAIN, field="sessionId")
# What lists are narrowed down to.
OF_SESSION = option("--session", "SESSION", "only what belongs to this session", field="sessionKey")
OF_AGENT = option("--agent", "AGENT", "only what belongs to this agent", field="agentId")
OF_TASK = option("--task", "TASK", "only what belongs to this task", field="taskId")
OF_TOPIC = option("--topic", "TOPIC", "only what belongs to this topic", field="topicId")
OF_SPACE = option("--space", "SPACE", "only what is visible from this space", field="spaceId")
T = TypeVar("T")
Find = Callable[[Client, str, Callable[[str], Any]], Any]
Examples = tuple[str, ...]


def as_it_is(_: Client, name: str, act: Callable[[str], T]) -> T:
    """Call `act` with a name that is an id already."""
    return act(name)


class Resource(NamedTuple):
    """The objects of one kind; its methods describe the commands about them."""

    # The first word of the commands, and what they are about.
    noun: str
    summary: str
    path: str
    # The field of an answer that holds one of them.
    one: str
    columns: Mapping[str, Cell]
    # What it is called, and the field of an answer that holds several; else `one` and `noun`.
    word: str = ""
    many: str = ""
    # What every id begins with, which people may leave out; empty where people choose the ids.
    prefix: str = ""
    # What to say if there are none: a sentence, and one that tells how to create one.
    empty: str = "None."
    # How the list is asked for in which ids are looked up.
    query: Mapping[str, object] = {}
    id: str = "id"
    # Another field that names one.
    alias: str = ""
    # What names one, as the help says it; by default its id, the beginning of it, or `last`.
    names: str = ""
    # In which order they are listed, if by time; only then does `last` mean the newest.
    order: Literal["newest first", "oldest first", ""] = ""
    # Whether the API shows them in lists only.
    listed_only: bool = False
    # How one is found, if not by the list.
    find: Find | None = None
    # Fields that say nothing to people, and those that are shown below the others.
    hidden: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The field of an answer that holds several of them."""
        return self.many or self.noun

    @property
    def name(self) -> str:
        """What one of them is called."""
        return self.word or self.one

    @property
    def table(self) -> Table:
        """How they are listed."""
        is_cut = _is_elsewhere if "sessionId" in self.query else lambda _: False
        return Table(self.field, self.columns, self.empty, is_cut)

    def of(self, client: Client, name: str, act: Callable[[str], T]) -> T:
        """Call `act` with the id of what was named; look up only a name that is not an id."""
        if self.find:
            found: T = self.find(client, name, act)
            return found
        if self.alias:
            return act(str(self.row(client, name)[self.id]))
        if name == "last" and self.order:
            return act(str(self._newest(client)[self.id]))
        try:
            return act(name)
        except Refused as fault:
            row = self._row(client, name) if fault.code == "not_found" else None
            if fault.code != "not_found" or (row is None and self.prefix) or (row and row[self.id] == name):
                raise
        return act(str((row or self.row(client, name))[self.id]))

    def row(self, client: Client, name: str) -> Item:
        """Return the row of the list that was named; an unknown one is reported with the closest match."""
        row = self._newest(client) if name == "last" and self.order else self._row(client, name)
        if row is None:
            rows = () if self.prefix else (row for page in self._pages(client) for row in page)
            known = [one for row in rows for one in self._names(row)]
            raise unknown(self.name, name, Refusal.nearest(name, known), f"`carrel {self.noun}` lists them.")
        return row

    def read(self, client: Client, name: str) -> Item:
        """Return the answer that shows what was named."""
        if self.listed_only:
            return {self.one: self.row(client, name)}
        found: Item = self.of(client, name, lambda one: client.get(self.at(one)))
        return found

    def at(self, one: str, *rest: str) -> str:
        """Return the path of an object, or of something below it."""
        return "/".join([self.path, segment(one), *rest])

    def named(self, text: str = "", **parameters: Any) -> Option:
        """Return the argument that names one of them."""
        id_or_alias = f"id or {self.alias}" if self.alias else "id"
        beginning = ", a unique beginning of it, or `last`" if self.order else ", or a unique beginning of it"
        text = text or self.names or f"{id_or_alias} of the {self.name}{beginning if self.prefix else ''}"
        return option(f"{self.one}_id", self.name.upper(), text, of=self.of, field=f"{self.one}Id", **parameters)

    def lists(self, summary: str = "", *options: Option, asks: Ask | None = None, examples: Examples = ()) -> Command:
        """Describe the command that lists them."""
        name, summary = f"{self.noun} list", summary or f"list {self.noun}"
        return request(name, summary, asks or f"GET {self.path}", self.table.show, *options, examples=examples)

    def shows(
        self, summary: str = "", *options: Option, asks: Ask | None = None, show: Show | None = None,
        examples: Examples = (),
    ) -> Command:  # fmt: skip
        """Describe the command that shows one of them."""
        named = self.named()
        asked = asks or (lambda client, args: self.read(client, getattr(args, named.dest)))
        summary = summary or f"show {_a(self.name)}"
        return request(f"{self.noun} show", summary, asked, show or self.show, named, *options, examples=examples)

    def creates(
        self, summary: str = "", *options: Option, asks: Ask | None = None, sends: Sends = NOTHING,
        show: str | Show = "", hint: Hint = "", examples: Examples = (),
    ) -> Command:  # fmt: skip
        """Describe the command that creates one and prints its id."""
        name, summary = f"{self.noun} create", summary or f"create {_a(self.name)}"
        asked, shown = asks or f"POST {self.path}", show or f"{{{self.one}[{self.id}]}}"
        return request(name, summary, asked, shown, *options, SET, sends=sends, hint=hint, examples=examples)

    def edits(self, *options: Option, show: str | Show = "", examples: Examples = ()) -> Command:
        """Describe the command that changes fields of one."""
        summary = f"change {_a(self.name)}"
        return self.does("edit", summary, "PATCH", show or self.show, *options, SET, examples=examples)

    def renames(self, name: Option) -> Command:
        """Describe the command that gives one another name."""
        shown = f"Renamed: {{{self.one}[{name.field}]}}"
        return self.does("rename", f"give {_a(self.name)} another name", "PATCH", shown, name)

    def deletes(
        self, summary: str = "", show: str = "Deleted.", *, verb: str = "delete", question: str = ""
    ) -> Command:  # fmt: skip
        """Describe the command that deletes one; with a question, which may have fields of it, a person is asked."""
        dest = self.named().dest
        asked = (lambda client, args: question.format_map(self.read(client, getattr(args, dest)))) if question else None
        return self.does(verb, summary or f"{verb} {_a(self.name)}", "DELETE", show, question=asked)

    def does(
        self, verb: str, summary: str, asks: str | Ask, show: str | Show, *options: Option,
        sends: Sends = NOTHING, question: Ask | None = None, examples: Examples = (),
    ) -> Command:  # fmt: skip
        """Describe a command about one of them; `asks` is a method, and what follows the object's path."""
        if isinstance(asks, str):
            method, _, rest = asks.partition(" ")
            asks = f"{method} {self.path}/{{}}" + (f"/{rest}" if rest else "")
        return request(
            f"{self.noun} {verb}", summary, asks, show, self.named(), *options,
            sends=sends, question=question, examples=examples,
        )  # fmt: skip

    def show(self, answer: Item, _: Namespace, screen: Screen) -> None:
        """Print one of them for people."""
        item = answer[self.one]
        screen.facts((name, value) for name, value in item.items() if name not in (*self.hidden, *self.below))
        for text in (item.get(name) for name in self.below):
            if text:
                shown = text if isinstance(text, str) else json.dumps(text, indent=2, ensure_ascii=False)
                screen.line(f"\n{shown}")

    def _newest(self, client: Client) -> Item:
        newest: list[Item] = (
            client.get(self.path, {**self.query, "limit": 1})[self.field][:1]
            if self.order == "newest first"
            else [row for page in self._pages(client) for row in page][-1:]
        )
        if not newest:
            how = self.empty.partition(". ")[2]
            raise Failure(Exit.FAILED, f"There are no {self.name}s yet. {how}".rstrip())
        return newest[0]

    def _row(self, client: Client, name: str) -> Item | None:
        """Return the row that has a name, or the only one whose id begins with it, searched from the first page."""
        for page in self._pages(client):
            found = {str(row[self.id]): row for row in page if name in self._names(row)}
            if not found and self.prefix:
                starts = (name, self.prefix + name)
                found = {str(row[self.id]): row for row in page if str(row[self.id]).startswith(starts)}
            if found:
                return found[only(found, name, f"{self.name}s")]
        return None

    def _pages(self, client: Client) -> Iterator[list[Item]]:
        query = dict(self.query)
        for _ in range(_PAGES_MAX):
            page = client.get(self.path, query)
            yield page[self.field]
            query["cursor"] = page.get("nextCursor")
            if not query["cursor"]:
                return

    def _names(self, row: Item) -> list[str]:
        return [str(row[field]) for field in (self.id, self.alias) if field]


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def _is_elsewhere(args: Namespace) -> bool:
    """Return whether more than the main session is shown; only ids of that one can be completed."""
    return args.session != MAIN or any(getattr(args, name, None) for name in ("goal", "task", "scope"))
