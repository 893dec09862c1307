"""The SQL of search: documents, the index of their words, removals, and rebuilding parts of the index."""

from collections.abc import Iterable
from itertools import starmap

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.kernel import Access, limits
from carrel.search.model import Scope
from carrel.storage import Row, Table, Tx, in_list, padded


class Figures(Struct, frozen=True):
    """What is kept in memory of a document."""

    number: int
    version: int
    kind: str
    reach: str
    places: str
    speaker: str
    session_key: str | None
    sequence: int
    length: int
    is_question: int
    model: str
    codes: bytes


class Stored(Figures, frozen=True):
    """A document as it is stored; its number and version are assigned then. Marks and terms are separated by spaces."""

    id: str
    at: int
    label: str
    terms: str
    vectors: bytes


_DOCUMENTS = Table("search_documents", Stored, key=("account_id", "kind", "id"))
_SELECT_FIGURES = f"SELECT {', '.join(Figures.__struct_fields__)} FROM search_documents WHERE account_id = :account"
_CHANGES = ", ".join(f"{name} = excluded.{name}" for name in Stored.__struct_fields__ if name != "number")
_WRITE = (
    f"{_DOCUMENTS.insert.replace(':number', 'tick()').replace(':version', 'tick()')} "
    f"ON CONFLICT (account_id, kind, id) DO UPDATE SET {_CHANGES}"
)
# As in the migration that created the index. Accounts whose ids end alike share terms; readers drop foreign rows.
_ACCOUNT_CHARS = 8
# Rows that are read by number at a time; all such statements have the same text.
_NUMBERED = 100
_NUMBERS = ", ".join(f":n_{at}" for at in range(_NUMBERED))


def write_document(tx: Tx, access: Access, document: Stored) -> None:
    """Write a document, replacing the one of that kind and id but keeping its number; the version is new."""
    tx.pipeline(_WRITE, access, **_DOCUMENTS.values(document))


def delete_documents(tx: Tx, access: Access, kind: str, ids: Iterable[str]) -> int:
    """Delete the documents of a kind with those ids, and have readers forget them; return how many existed."""
    listed, named = in_list("id", ids)
    if not named:
        return 0
    sql = (
        "DELETE FROM search_documents WHERE account_id = :account AND kind = :kind "
        f"AND id IN ({listed}) RETURNING number"
    )
    return _note_removals(tx, access, [row[0] for row in tx.all(sql, access, kind=kind, **named)])


def delete_older_documents(tx: Tx, access: Access, kind: str, before: int, *, limit: int) -> int:
    """Delete up to `limit` documents of a kind that were last written before a version; return how many."""
    sql = (
        "DELETE FROM search_documents WHERE account_id = :account AND number IN (SELECT number FROM search_documents "
        "WHERE account_id = :account AND version < :before AND kind = :kind ORDER BY version LIMIT :limit) "
        "RETURNING number"
    )
    rows = tx.all(sql, access, before=before, kind=kind, limit=limit)
    return _note_removals(tx, access, [row[0] for row in rows])


def _note_removals(tx: Tx, access: Access, numbers: list[int]) -> int:
    if not numbers:
        return 0
    sql = "INSERT INTO search_removals (account_id, version, number) VALUES (:account, tick(), :number)"
    tx.run_many(sql, [{"account": access.account_id, "number": number} for number in numbers])
    # Readers that miss more than are kept load everything anew.
    oldest = (
        "SELECT version FROM search_removals WHERE account_id = :account ORDER BY version DESC LIMIT 1 OFFSET :kept"
    )
    prune = f"DELETE FROM search_removals WHERE account_id = :account AND version < ({oldest})"
    tx.run(prune, access, kept=limits.SEARCH_REMOVALS_MAX)
    return len(numbers)


def newest_version(tx: Tx, access: Access) -> int:
    """Return the version of the newest change of an account's index, 0 if there is none."""
    newest = "SELECT max(version) FROM {} WHERE account_id = :account"
    row = tx.one(f"SELECT ({newest.format('search_documents')}), ({newest.format('search_removals')})", access)
    return max(value or 0 for value in row or (0,))


def figures_numbered_after(tx: Tx, access: Access, after: int) -> list[Row]:
    """Return the figures of the next documents after a number, in order; plain rows, since there may be a million."""
    sql = f"{_SELECT_FIGURES} AND number > :after ORDER BY number LIMIT :limit"
    return tx.all(sql, access, after=after, limit=limits.SEARCH_LOAD_ROWS)


def figures_after(tx: Tx, access: Access, after: int) -> list[Figures]:
    """Return the documents that changed after a version, oldest change first."""
    sql = f"{_SELECT_FIGURES} AND version > :after ORDER BY version LIMIT :limit"
    changed: list[Figures] = []
    while True:
        page = list(starmap(Figures, tx.all(sql, access, after=after, limit=limits.SEARCH_LOAD_ROWS)))
        changed += page
        if len(page) < limits.SEARCH_LOAD_ROWS:
            return changed
        after = page[-1].version


def removals_after(tx: Tx, access: Access, after: int) -> list[tuple[int, int]]:
    """Return (version, number) of removals after a version, oldest first, as far as they are kept."""
    sql = (
        "SELECT version, number FROM search_removals WHERE account_id = :account AND version > :after "
        "ORDER BY version LIMIT :limit"
    )
    return [(row[0], row[1]) for row in tx.all(sql, access, after=after, limit=limits.SEARCH_REMOVALS_MAX)]


def matching(tx: Tx, access: Access, scope: Scope | None, *terms: str, limit: int) -> NDArray[np.int64]:
    """Return the numbers of the newest documents that have all terms, in a scope or in the whole account."""
    return _matching_each(tx, [_match(access, scope, *terms)], limit)[0]


def matching_each(
    tx: Tx, access: Access, scope: Scope | None, terms: Iterable[str], *, limit: int
) -> dict[str, NDArray[np.int64]]:
    """Return the same for each of several terms, in one statement."""
    named = list(terms)
    return dict(zip(named, _matching_each(tx, [_match(access, scope, term) for term in named], limit), strict=True))


def _matching_each(tx: Tx, matches: list[str], limit: int) -> list[NDArray[np.int64]]:
    if not matches:
        return []
    newest = "SELECT rowid FROM search_words(:match_{0}) ORDER BY rowid DESC LIMIT :limit"
    # In one row: between rows the interpreter's lock changes hands, and everything else waits for it.
    found = f"(SELECT string_agg(CAST(rowid AS TEXT), ',') FROM ({newest}) AS found_{{0}})"
    sql = f"SELECT {', '.join(found.format(at) for at in range(len(matches)))}"
    row = tx.one(sql, limit=limit, **{f"match_{at}": match for at, match in enumerate(matches)})
    return [np.fromstring(numbers or "", dtype=np.int64, sep=",") for numbers in row or ()]


def _match(access: Access, scope: Scope | None, *terms: str) -> str:
    """The query for the index of words; its terms begin with the end of their account's id."""

    def named(term: str) -> str:
        return f'"{access.account_id[-_ACCOUNT_CHARS:]}{term}"'

    marks = [] if scope is None else [f"({' OR '.join(map(named, scope.marks))})", *map(named, scope.places)]
    return " AND ".join([*marks, *map(named, terms)])


def documents_at(tx: Tx, access: Access, place: str, after: int, *, limit: int) -> list[tuple[int, str, str]]:
    """Return number, kind and id of the next documents at a place, in order."""
    found = "SELECT rowid FROM search_words(:match) WHERE rowid > :after ORDER BY rowid LIMIT :limit"
    sql = f"SELECT number, kind, id FROM search_documents WHERE account_id = :account AND number IN ({found})"
    rows = tx.all(sql, access, match=_match(access, None, place), after=after, limit=limit)
    return sorted((row[0], row[1], row[2]) for row in rows)


def has_kept_documents(tx: Tx, access: Access) -> bool:
    """Return whether anything but messages is indexed: a topic, a task or a note."""
    sql = "SELECT 1 FROM search_documents WHERE account_id = :account AND kind IN ('topic', 'task', 'note') LIMIT 1"
    return tx.one(sql, access) is not None


def documents_named(tx: Tx, access: Access, names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Stored]:
    """Return the existing ones of those documents, by kind and id."""
    return {(one.kind, one.id): one for one in _DOCUMENTS.rows(_named(tx, access, _DOCUMENTS.columns, names))}


def marks_named(tx: Tx, access: Access, names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the marks of the existing ones of those documents, by kind and id."""
    found = _named(tx, access, "kind, id, reach, places", names)
    return {(kind, name): f"{reach} {places}" for kind, name, reach, places in found}


def _named(tx: Tx, access: Access, columns: str, names: Iterable[tuple[str, str]]) -> list[Row]:
    """Those columns of the documents of these kinds and ids, batched by what a statement takes."""
    wanted = list(names)
    kinds, ids = (list(dict.fromkeys(each)) for each in zip(*wanted, strict=True)) if wanted else ([], [])
    of_kinds = ", ".join(f"'{kind}'" for kind in kinds)
    found: list[Row] = []
    for first in range(0, len(ids), _NUMBERED):
        some = ids[first : first + _NUMBERED]
        listed = {f"id_{at}": each for at, each in enumerate(padded(some))}
        sql = (
            f"SELECT {columns} FROM search_documents WHERE account_id = :account AND kind IN ({of_kinds}) "
            f"AND id IN ({', '.join(f':{each}' for each in listed)})"
        )
        found += tx.all(sql, access, **listed)
    return found


def documents_numbered(tx: Tx, access: Access, numbers: list[int]) -> list[Stored]:
    sql = f"{_DOCUMENTS.select} WHERE account_id = :account AND number IN ({_NUMBERS})"
    found: list[Stored] = []
    for first in range(0, len(numbers), _NUMBERED):
        some = numbers[first : first + _NUMBERED]
        some += [-1] * (_NUMBERED - len(some))
        found += _DOCUMENTS.rows(tx.all(sql, access, **{f"n_{at}": number for at, number in enumerate(some)}))
    return found


class Rebuild(Struct, frozen=True):
    """The rebuilding of one part of an account's index, up to `cursor`; it replaces what is older than `version`.

    A part is `topic`, `task` or `entry` for all of them, or `topic:<id>` for one with what belongs to it.
    """

    account_id: str
    part: str
    cursor: str
    version: int


_UNMOVED = "account_id = :account AND part = :part AND cursor = :before AND version = :version"


def request_rebuild(tx: Tx, access: Access, part: str) -> None:
    """Begin, or begin anew."""
    sql = (
        "INSERT INTO search_rebuilds (account_id, part, cursor, version, requested_at) "
        "VALUES (:account, :part, '', tick(), :now) ON CONFLICT (account_id, part) "
        "DO UPDATE SET cursor = '', version = excluded.version, requested_at = excluded.requested_at"
    )
    tx.run(sql, access, part=part, now=tx.now)


def rebuilds_due(tx: Tx, limit: int) -> list[Rebuild]:
    """Return rebuilds that are not finished, the oldest first."""
    sql = (
        "SELECT account_id, part, cursor, version FROM search_rebuilds "
        "ORDER BY requested_at, account_id, part LIMIT :limit"
    )
    return [Rebuild(*row) for row in tx.all(sql, limit=limit)]


def advance_rebuild(tx: Tx, access: Access, rebuild: Rebuild, cursor: str) -> bool:
    """Move past a page; False, with nothing written, if another server already did."""
    sql = f"UPDATE search_rebuilds SET cursor = :cursor WHERE {_UNMOVED}"
    held = {"part": rebuild.part, "before": rebuild.cursor, "version": rebuild.version}
    return tx.run(sql, access, cursor=cursor, **held) > 0


def finish_rebuild(tx: Tx, access: Access, rebuild: Rebuild) -> None:
    """End it, unless it was begun anew."""
    sql = f"DELETE FROM search_rebuilds WHERE {_UNMOVED}"
    tx.run(sql, access, part=rebuild.part, before=rebuild.cursor, version=rebuild.version)


def oldest_rebuild(tx: Tx, access: Access) -> tuple[int, int | None]:
    """Return how many parts of an account's index are being rebuilt, and the age of the oldest."""
    row = tx.one("SELECT count(*), min(requested_at) FROM search_rebuilds WHERE account_id = :account", access)
    assert row is not None, "a count always has a row"
    return row[0], row[1]


def is_rebuilding(tx: Tx, access: Access) -> bool:
    """Return whether a part of an account's index is being rebuilt and may be incomplete."""
    return tx.one("SELECT 1 FROM search_rebuilds WHERE account_id = :account", access) is not None
