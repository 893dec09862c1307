"""A table description: the SQL it spells out, and structs that come back from both databases as they were written."""

from typing import Any

import pytest
from msgspec import Struct

from carrel.kernel import system_access
from carrel.storage import FLAG, Database, Table, Tx, json_column

CREATE = (
    "CREATE TABLE notes (account_id TEXT NOT NULL, id TEXT NOT NULL, body TEXT, tags TEXT NOT NULL, "
    "pinned BIGINT NOT NULL, due_at BIGINT, PRIMARY KEY (account_id, id))"
)
CODECS = {"body": json_column(dict[str, Any]), "tags": json_column(tuple[str, ...]), "pinned": FLAG}
MINE, THEIRS = system_access("acc_mine"), system_access("acc_theirs")


class Note(Struct, frozen=True):
    """The account is not one of its fields."""

    id: str
    body: dict[str, Any] | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False
    # Not a column.
    shown: str = "no"


class NamedNote(Struct, frozen=True, kw_only=True):
    """The account is one of its fields, and all of them are keyword-only."""

    account_id: str
    id: str
    tags: tuple[str, ...] = ()
    pinned: bool = False


class Point(Struct, frozen=True):
    """Nothing to decode."""

    x: int
    y: int | None = None


NOTES = Table("notes", Note, without=("shown",), also=("due_at",), codecs=CODECS)
NAMED_NOTES = Table("notes", NamedNote, codecs={"tags": CODECS["tags"], "pinned": FLAG})
POINTS = Table("points", Point, key=("account_id", "line_id", "x"))


def test_the_columns_are_the_fields_in_their_order() -> None:
    assert NOTES.columns == "id, body, tags, pinned"
    assert NOTES.columns_of("n") == "n.id, n.body, n.tags, n.pinned"
    assert NAMED_NOTES.columns == "account_id, id, tags, pinned"


def test_an_insert_binds_the_account_from_the_access_and_writes_the_key() -> None:
    assert POINTS.insert == "INSERT INTO points (account_id, line_id, x, y) VALUES (:account, :line_id, :x, :y)"
    assert NAMED_NOTES.insert == (
        "INSERT INTO notes (account_id, id, tags, pinned) VALUES (:account, :id, :tags, :pinned)"
    )


def test_an_update_changes_everything_but_the_key() -> None:
    assert NOTES.update == (
        "UPDATE notes SET body = :body, tags = :tags, pinned = :pinned, due_at = :due_at "
        "WHERE account_id = :account AND id = :id"
    )
    assert POINTS.update == "UPDATE points SET y = :y WHERE account_id = :account AND line_id = :line_id AND x = :x"


def test_an_insert_can_be_limited_to_some_columns() -> None:
    few = Table("notes", Note, without=("shown",), inserted=("account_id", "id"))
    assert few.insert == "INSERT INTO notes (account_id, id) VALUES (:account, :id)"


def test_a_table_without_an_account_has_none_in_its_sql() -> None:
    table = Table("points", Point, key=("x",))
    assert table.insert == "INSERT INTO points (x, y) VALUES (:x, :y)"
    assert table.update == "UPDATE points SET y = :y WHERE x = :x"


def test_rows_become_structs_by_position_or_by_name() -> None:
    assert POINTS.rows([(1, 2), (3, None)]) == [Point(1, 2), Point(3)]
    assert POINTS.row((1, 2)) == Point(1, 2)
    assert NAMED_NOTES.row(("acc", "n", '["a"]', 1)) == NamedNote(account_id="acc", id="n", tags=("a",), pinned=True)
    assert NOTES.rows([("n", None, "[]", 0)]) == [Note("n")]


def test_no_row_is_none() -> None:
    assert NOTES.row(None) is None


@pytest.mark.parametrize("row", [("n",), ("acc", "n", "[]", 0, "one more")])
def test_a_row_of_another_length_is_an_error(row: tuple[object, ...]) -> None:
    with pytest.raises((ValueError, IndexError)):
        NAMED_NOTES.row(row)


def test_none_is_written_as_null_and_everything_else_by_its_codec() -> None:
    assert NOTES.values(Note("n", None, ("a",), True)) | {"shown": ""} == {
        "id": "n", "body": None, "tags": '["a"]', "pinned": 1, "shown": "",
    }  # fmt: skip


def stored(tx: Tx) -> list[Note]:
    return NOTES.rows(tx.all(f"SELECT {NOTES.columns} FROM notes WHERE account_id = :account ORDER BY id", MINE))


async def test_structs_come_back_from_the_database_as_they_were_written(db: Database) -> None:
    notes = [Note("a", {"x": [1]}, ("p", "q"), True), Note("b")]
    changed = Note("b", {"y": None}, ("r",), False)

    def write(tx: Tx) -> None:
        tx.run(CREATE)
        for note in notes:
            tx.run(NOTES.insert, MINE, due_at=None, **NOTES.values(note))
        tx.run(NAMED_NOTES.insert, THEIRS, **NAMED_NOTES.values(NamedNote(account_id="acc_mine", id="b")))

    await db.write(write)
    assert await db.read(stored) == notes
    await db.write(lambda tx: tx.run(NOTES.update, MINE, due_at=5, **NOTES.values(changed)))
    assert await db.read(stored) == [notes[0], changed]
    due = "SELECT due_at FROM notes WHERE account_id = :account AND id = 'b'"
    assert await db.read(lambda tx: [tx.one(due, MINE), tx.one(due, THEIRS)]) == [(5,), (None,)]


async def test_a_table_reads_only_rows_of_the_account(db: Database) -> None:
    def write(tx: Tx) -> None:
        tx.run(CREATE)
        for access in (MINE, THEIRS):
            for name in ("a", "b"):
                tx.run(NOTES.insert, access, due_at=None, **NOTES.values(Note(name, tags=(access.account_id,))))

    await db.write(write)
    found = await db.read(lambda tx: NOTES.all(tx, MINE, "id >= :first ORDER BY id DESC", first="a"))
    assert found == [Note("b", tags=("acc_mine",)), Note("a", tags=("acc_mine",))]
    assert await db.read(lambda tx: NOTES.one(tx, THEIRS, "id = :id", id="b")) == Note("b", tags=("acc_theirs",))
    assert await db.read(lambda tx: NOTES.one(tx, MINE, "id = :id", id="c")) is None
