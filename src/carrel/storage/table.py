"""One description per table: its columns, INSERT, upsert, whole-row UPDATE, plain reads, and how rows become structs.

Stores write out nearly every other statement. What is here is computed once, when the store is imported.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import starmap
from typing import Any, Generic, NamedTuple, TypeVar, overload

import msgspec
from msgspec import Struct, structs

from carrel.storage.database import InAccount, Row, Tx

S = TypeVar("S", bound=Struct)
V = TypeVar("V")
# A condition of a statement, and the values that it binds.
Condition = tuple[str, dict[str, object]]
_encode = msgspec.json.Encoder().encode


class Codec(NamedTuple):
    """How one column's values are written and read; None is always NULL."""

    encode: Callable[[Any], object]
    decode: Callable[[Any], Any]


# A bool, which both databases store as 0 or 1.
FLAG = Codec(int, bool)


def json_column(kind: Any) -> Codec:
    """Return the codec of a column that stores values of this type as JSON text."""
    return Codec(lambda value: _encode(value).decode(), msgspec.json.Decoder(kind).decode)


class Table(Generic[S]):
    """A table whose columns are the fields of a struct.

    `account_id` is always bound from the access, whether the struct has it or not. Key columns that are not fields, and
    those in `also`, are written too: bind them in the call. `inserted` limits an INSERT to these columns.
    """

    def __init__(
        self, name: str, struct: type[S], *, key: tuple[str, ...] = ("account_id", "id"), also: tuple[str, ...] = (),
        without: tuple[str, ...] = (), inserted: tuple[str, ...] = (), codecs: Mapping[str, Codec] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.key = name, key
        self.fields = tuple(field for field in struct.__struct_fields__ if field not in without)
        self.columns = ", ".join(self.fields)
        self.select = f"SELECT {self.columns} FROM {name}"
        self._of_account = f"{self.select} WHERE account_id = :account"
        written = tuple(dict.fromkeys((*key, *self.fields, *also)))
        into = inserted or written
        self.insert = f"INSERT INTO {name} ({', '.join(into)}) VALUES ({', '.join(map(_bound, into))})"
        changes = ", ".join(f"{column} = {_bound(column)}" for column in written if column not in key)
        self.update = f"UPDATE {name} SET {changes} WHERE {' AND '.join(f'{part} = {_bound(part)}' for part in key)}"
        self.upsert = f"{self.insert} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
        self._struct = struct
        self._encoders = [(column, codec.encode) for column, codec in (codecs or {}).items()]
        self._decoders = [(self.fields.index(column), codec.decode) for column, codec in (codecs or {}).items()]
        # By position is many times faster than by name; msgspec lists here which fields can be passed so.
        self._positional = struct.__match_args__[: len(self.fields)] == self.fields
        self._plain = self._positional and not self._decoders

    def columns_of(self, alias: str) -> str:
        """Return the column list for a query that gives the table an alias."""
        return ", ".join(f"{alias}.{field}" for field in self.fields)

    def values(self, struct: S) -> dict[str, object]:
        """Return a struct's fields as the values of an INSERT or UPDATE."""
        values = structs.asdict(struct)
        for column, encode in self._encoders:
            if values[column] is not None:
                values[column] = encode(values[column])
        return values

    @overload
    def row(self, row: Row) -> S: ...
    @overload
    def row(self, row: None) -> None: ...
    def row(self, row: Row | None) -> S | None:
        """Return the struct of a row selected by `columns`, or None."""
        if row is None:
            return None
        return self._struct(*row) if self._plain else self._read(row)

    def rows(self, rows: Iterable[Row]) -> list[S]:
        """Return the structs of several rows, in order."""
        return list(starmap(self._struct, rows) if self._plain else map(self._read, rows))

    def one(self, tx: Tx, access: InAccount, where: str, /, **values: object) -> S | None:
        """Return the first of the account's rows for which a condition holds; it may end with an order or a lock."""
        return self.row(tx.one(f"{self._of_account} AND {where}", access, **values))

    def all(self, tx: Tx, access: InAccount, where: str, /, **values: object) -> list[S]:
        """Return the account's rows for which a condition holds."""
        return self.rows(tx.all(f"{self._of_account} AND {where}", access, **values))

    def among(
        self, tx: Tx, access: InAccount, column: str, values: Iterable[object], then: str = "", **more: object
    ) -> list[S]:
        """Return the account's rows whose column has one of the values; `then` is the rest of the statement."""
        wanted = list(dict.fromkeys(values))
        if not wanted:
            return []
        names = {f"value_{at}": value for at, value in enumerate(padded(wanted))}
        listed = ", ".join(f":{name}" for name in names)
        return self.all(tx, access, f"{column} IN ({listed}) {then}", **names, **more)

    def _read(self, row: Row) -> S:
        values = list(row)
        for at, decode in self._decoders:
            if values[at] is not None:
                values[at] = decode(values[at])
        return (
            self._struct(*values) if self._positional else self._struct(**dict(zip(self.fields, values, strict=True)))
        )


def in_list(name: str, values: Iterable[object]) -> Condition:
    """Return the parameters of an `IN` list, each value once, and their values by name."""
    bound = {f"{name}_{at}": value for at, value in enumerate(dict.fromkeys(values))}
    return ", ".join(f":{each}" for each in bound), bound


def padded(values: list[V]) -> list[V]:
    """Return a list for `IN`, padded with its last value to a power of two, so that few statements are prepared."""
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))


def _bound(column: str) -> str:
    return ":account" if column == "account_id" else f":{column}"
