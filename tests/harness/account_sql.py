"""Whether a statement stays in one account, read off its text.

Every table of a statement that belongs to accounts must be bound: by `account_id = :account`, by an equal account of a
bound table beside or around it, or, in an INSERT, by the value written. What cannot be read counts as not bound.
"""

import functools
import re
from collections.abc import Iterator

import apsw

from carrel.storage.sqlite_file import migrate_file

Group = list["str | Group"]
Edges = list[tuple[str, str]]
# Alias -> table.
Sources = dict[str, str]
PARAMETERS = {":account", ":account_id"}
_TOKEN = re.compile(r"'(?:[^']|'')*'|:\w+|[A-Za-z_][\w.]*|<>|<=|>=|\|\||\S")
_STARTS = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}
# Ends a condition, or stands where an alias would.
_CLAUSES = {
    "WHERE", "ON", "JOIN", "LEFT", "INNER", "CROSS", "ORDER", "GROUP", "LIMIT", "SET", "RETURNING", "FOR", "VALUES",
    "UNION", "USING", "HAVING", "SELECT", "DO", "OFFSET", "AS",
}  # fmt: skip


@functools.cache
def account_tables() -> frozenset[str]:
    """The tables that belong to accounts, by the newest schema."""
    connection = apsw.Connection(":memory:")
    migrate_file(connection)
    sql = "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE c.name = 'account_id'"
    return frozenset(str(name) for (name,) in connection.execute(sql))


@functools.cache
def unbound_tables(sql: str, *, across: bool = False) -> tuple[str, ...]:
    """Return the tables of a statement whose rows may be of any account.

    With `across` the first table of each SELECT may be; every other must be of the same account as it.
    """
    return tuple(_walk(_nested(sql), {}, across=across))


def _nested(sql: str) -> Group:
    """The tokens, with a list for whatever stands in parentheses."""
    stack: list[Group] = [[]]
    for token in _TOKEN.findall(sql):
        if token == "(":
            stack.append([])
        elif token == ")":
            inside = stack.pop()
            stack[-1].append(inside)
        else:
            stack[-1].append(token)
    return stack[0]


def _walk(group: Group, around: Sources, *, across: bool = False) -> Iterator[str]:
    """Yield what is not bound in a group of tokens; `around` are the tables that the group may refer to."""
    for part in _parts(group):
        seen = around
        if part and _word(part[0]) in _STARTS:
            sources = dict(_sources(part))
            seen = around | sources
            yield from _unbound(part, sources, around, next(iter(sources), "") if across else "")
        for token in part:
            if isinstance(token, list):
                yield from _walk(token, seen)


def _parts(group: Group) -> Iterator[Group]:
    """The SELECTs of a UNION, each by itself."""
    part: Group = []
    for token in group:
        if _word(token) == "UNION":
            yield part
            part = []
        elif part or _word(token) != "ALL":
            part.append(token)
    yield part


def _word(token: "str | Group") -> str:
    return token.upper() if isinstance(token, str) else ""


def _sources(part: Group) -> Iterator[tuple[str, str]]:
    """(alias, table) of every table of the statement itself, without those of its subqueries."""
    for at, token in enumerate(part[:-1]):
        word, before = _word(token), _word(part[at - 1]) if at else ""
        named = (word in ("FROM", "JOIN") and before != "DISTINCT") or word == "INTO" or (word == "UPDATE" and not at)
        following = part[at + 1]
        if named and isinstance(following, str):
            rest = [token for token in part[at + 2 : at + 4] if _word(token) != "AS"]
            has_alias = bool(rest) and isinstance(rest[0], str) and re.fullmatch(r"[a-z_]\w*", rest[0])
            yield (str(rest[0]) if has_alias and _word(rest[0]) not in _CLAUSES else following), following


def _unbound(part: Group, sources: Sources, around: Sources, free: str) -> Iterator[str]:
    if _word(part[0]) == "INSERT":
        written = _written_account(part)
        edges: Edges = [(next(iter(sources)), ":account")] if written in PARAMETERS else []
        if "." in written:
            edges = [(next(iter(sources)), written.partition(".")[0])]
    else:
        edges = []
    edges += _edges(part, sources, around | sources)
    bound = PARAMETERS | {free} | (around.keys() - sources.keys())
    while grown := {one for one, other in edges if other in bound} - bound:
        bound |= grown
    yield from (table for alias, table in sources.items() if table in account_tables() and alias not in bound)


def _edges(part: Group, sources: Sources, seen: Sources) -> Edges:
    """What the conditions of WHERE and ON say is of one account, in both directions."""
    edges: Edges = []
    condition: list[str] = []
    for token in [*part, "WHERE"]:
        word = _word(token)
        if word in _CLAUSES:
            if "OR" not in map(str.upper, condition):
                edges += _equalities(condition, sources, seen)
            condition = [word] if word in ("WHERE", "ON") else []
        elif condition:
            condition.append(token if isinstance(token, str) else "()")
    return edges + [(other, one) for one, other in edges]


def _equalities(condition: list[str], sources: Sources, seen: Sources) -> Iterator[tuple[str, str]]:
    own = next((alias for alias, table in sources.items() if table in account_tables()), "")
    for at, token in enumerate(condition[1:-1], 1):
        one, other = condition[at - 1], condition[at + 1]
        joined = condition[at - 2].upper() in ("WHERE", "ON", "AND") if at > 1 else False
        if token == "=" and joined and _is_account(one, seen) and (other in PARAMETERS or _is_account(other, seen)):
            yield _alias(one) or own, other if other in PARAMETERS else _alias(other) or own


def _is_account(name: str, sources: Sources) -> bool:
    alias, _, column = name.rpartition(".")
    return column == "account_id" or (column == "id" and sources.get(alias) == "accounts")


def _alias(name: str) -> str:
    return name.rpartition(".")[0]


def _written_account(part: Group) -> str:
    """The expression that an INSERT writes into `account_id`; empty when there is none."""
    columns = part[3]
    if not isinstance(columns, list) or "account_id" not in columns:
        return ""
    at = [token for token in columns if token != ","].index("account_id")
    values = part[5] if _word(part[4]) == "VALUES" else part[5:]
    listed = _split(values) if isinstance(values, list) else []
    return "".join(map(str, listed[at])) if at < len(listed) else ""


def _split(values: Group) -> list[Group]:
    listed: list[Group] = [[]]
    for token in values:
        if token == ",":
            listed.append([])
        else:
            listed[-1].append(token)
    return listed
