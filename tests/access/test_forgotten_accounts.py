"""A statement that forgets its account fails every test that executes it, by construction of the harnesses' stores."""

import importlib
import types
from pathlib import Path

import pytest

from carrel.kernel import Access, system_access
from carrel.storage import Tx
from tests.harness.account_sql import account_tables, unbound_tables
from tests.harness.engine import open_engine
from tests.harness.watched_database import ACROSS_ACCOUNTS, ForgottenAccount

BOUND = [
    "SELECT id FROM runs WHERE account_id = :account AND id = :id",
    "SELECT r.id FROM runs r WHERE r.account_id = :account AND (r.state = 'a' OR r.state = 'b') FOR UPDATE OF r",
    "SELECT l.key FROM lanes l JOIN agents g ON g.account_id = l.account_id WHERE l.account_id = :account",
    "SELECT (SELECT 1 FROM events e WHERE e.account_id = f.account_id) FROM followers f WHERE f.account_id = :account",
    "UPDATE runs SET state = CASE WHEN state = 'a' OR state = 'b' THEN 'c' END WHERE account_id = :account_id",
    "DELETE FROM tokens WHERE account_id = :account AND id IN (SELECT id FROM tokens WHERE account_id = :account)",
    "INSERT INTO runs (account_id, id) VALUES (:account, :id) ON CONFLICT (account_id, id) DO UPDATE SET id = :id",
    "INSERT INTO runs (id, account_id) SELECT s.id, s.account_id FROM sessions s WHERE s.account_id = :account",
    "SELECT id FROM runs WHERE account_id = :account UNION ALL SELECT id FROM lanes WHERE account_id = :account",
    "SELECT id, slug FROM accounts",
]
UNBOUND = [
    ("SELECT id FROM runs WHERE id = :id", ["runs"]),
    ("SELECT id FROM runs WHERE account_id = :account OR id = :id", ["runs"]),
    ("SELECT id FROM runs WHERE NOT account_id = :account", ["runs"]),
    ("SELECT id FROM runs WHERE account_id <> :account", ["runs"]),
    ("SELECT id FROM runs WHERE (account_id = :account OR id = :id)", ["runs"]),
    ("SELECT l.key FROM lanes l JOIN agents g ON g.id = l.agent_id WHERE l.account_id = :account", ["agents"]),
    ("SELECT l.key FROM lanes l JOIN agents g ON g.account_id = l.account_id WHERE l.key = :key", ["lanes", "agents"]),
    ("SELECT f.name, (SELECT count(*) FROM events e WHERE e.seq > 1) FROM followers f WHERE f.account_id = :account",
     ["events"]),
    ("UPDATE runs SET account_id = :account WHERE id = :id", ["runs"]),
    ("DELETE FROM tokens WHERE account_id = :account AND id IN (SELECT id FROM tokens WHERE user_id = :id)",
     ["tokens"]),
    ("DELETE FROM entries", ["entries"]),
    ("INSERT INTO runs (account_id, id) VALUES (:other, :id)", ["runs"]),
    ("INSERT INTO runs (id, account_id) VALUES (:account, :id)", ["runs"]),
    ("INSERT INTO runs (account_id, id) SELECT s.account_id, s.id FROM sessions s WHERE s.id = :id",
     ["runs", "sessions"]),
    ("SELECT id FROM runs WHERE account_id = :account UNION SELECT id FROM lanes", ["lanes"]),
]  # fmt: skip


@pytest.mark.parametrize("sql", BOUND)
def test_a_statement_that_stays_in_its_account_is_taken(sql: str) -> None:
    assert unbound_tables(sql) == ()


@pytest.mark.parametrize(("sql", "tables"), UNBOUND)
def test_a_statement_that_forgets_an_account_is_noticed(sql: str, tables: list[str]) -> None:
    assert list(unbound_tables(sql)) == tables


def test_a_statement_across_accounts_joins_only_rows_of_one_account() -> None:
    behind = "SELECT a.id FROM accounts a WHERE EXISTS (SELECT 1 FROM events e WHERE {})"
    assert unbound_tables(behind.format("e.account_id = a.id"), across=True) == ()
    assert unbound_tables(behind.format("e.seq > 1"), across=True) == ("events",)
    logins = "SELECT t.id FROM logins l JOIN tokens t ON {} AND t.id = l.token_id WHERE l.secret_sha256 = :digest"
    assert unbound_tables(logins.format("t.account_id = l.account_id"), across=True) == ()
    assert unbound_tables(logins.format("1 = 1"), across=True) == ("tokens",)
    assert unbound_tables("SELECT 1 FROM accounts a UNION ALL SELECT 1 FROM followers f", across=True) == ()


def test_every_table_but_the_accounts_and_the_counter_belongs_to_accounts() -> None:
    assert len(account_tables()) > 20
    assert not {"accounts", "ticks"} & account_tables()


def test_what_works_across_accounts_still_exists() -> None:
    for name in ACROSS_ACCOUNTS:
        module, _, function = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function))


def store_that_forgets() -> types.ModuleType:
    """A store of the product, as far as the watch can tell, whose one function forgets its account."""
    module = types.ModuleType("carrel.runs.forgetful_store")
    exec("def count(tx, access):\n    return tx.one('SELECT count(*) FROM runs', access)", module.__dict__)
    return module


async def test_a_store_function_that_forgets_its_account_fails_at_once_and_again_at_the_end(tmp_path: Path) -> None:
    count = store_that_forgets().count

    def forget(tx: Tx, access: Access) -> None:
        with pytest.raises(ForgottenAccount):
            count(tx, access)

    with pytest.raises(ForgottenAccount, match=r"forgetful_store\.count forgets the account of runs"):
        async with open_engine(f"sqlite:///{tmp_path / 'carrel.db'}") as engine:
            await engine.db.write(lambda tx: forget(tx, system_access("acc_1")))
