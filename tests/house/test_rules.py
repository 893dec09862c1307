"""The source keeps the rules, and every rule notices when it is broken."""

from collections.abc import Callable, Iterator

import pytest

from tests.house import exceptions, rules
from tests.house.source import Source, house_sources
from tests.house.words import names_say_something

Rule = Callable[[Source], Iterator[str]]

FILE = "src/carrel/runs/a.py"
LONG_FUNCTION = "def walk():\n" + "    step()\n" * 60
CATCH = "try:\n    act()\nexcept Exception:{comment}\n    pass\n"

# For each rule a file that breaks it and one, as like as possible, that does not.
PLANTED: list[tuple[Rule, str, str, str]] = [
    (rules.files_and_functions_are_short, FILE, LONG_FUNCTION, LONG_FUNCTION[:-11]),
    (rules.files_and_functions_are_short, FILE, "a = 1\n" * 401, "a = 1\n" * 400),
    (rules.modules_have_docstrings, FILE, "a = 1\n", '"""A."""\n'),
    (rules.only_the_clock_reads_the_time, FILE, "import time\ntime.time()\n", "run.time\n"),
    (rules.only_the_clock_reads_the_time, FILE, "from time import monotonic\n", "from time import x\n"),
    (rules.only_the_clock_reads_the_time, FILE, "datetime.now(UTC)\n", "datetime.fromtimestamp(1)\n"),
    (rules.only_the_clock_reads_the_time, FILE, "get_running_loop().time()\n", "clock.time()\n"),
    (rules.only_ids_draw_chance, FILE, "import random\n", "import hashlib\n"),
    (rules.only_ids_draw_chance, FILE, "from uuid import uuid4\n", "from carrel.kernel import Ids\n"),
    (rules.broad_catches_name_their_boundary, FILE, CATCH.format(comment=""),
     CATCH.format(comment="  # boundary: one turn must not end the others")),
    (rules.broad_catches_name_their_boundary, FILE, "with suppress(Exception):\n    pass\n",
     "with suppress(OSError):\n    pass\n"),
    (rules.broad_catches_name_their_boundary, FILE, "try:\n    a()\nexcept (OSError, Exception):\n    b()\n",
     "try:\n    a()\nexcept BaseException:\n    undo()\n    raise\n"),
    (rules.nothing_is_left_unfinished, FILE, "a = 1  # TODO later\n", "a = 1  # later\n"),
    (rules.nothing_is_left_unfinished, FILE, "raise NotImplementedError\n", "raise ValueError\n"),
    (rules.store_functions_begin_with_tx_and_access, "src/carrel/runs/store.py", "def get(tx, run_id): ...\n",
     "def get(tx, access, run_id): ...\ndef _row(row): ...\n"),
    (rules.store_functions_begin_with_tx_and_access, "src/carrel/runs/store_queue.py", "def get(access, tx): ...\n",
     "def get(tx, access): ...\n"),
    (rules.stores_bind_the_account_by_the_access, "src/carrel/runs/store.py", "tx.one(a, account=access.account_id)\n",
     "tx.one(a, access)\n"),
    (rules.sql_stands_in_stores, FILE, 'a = "SELECT id FROM runs"\n', 'a = "Select a run"\n'),
    (rules.sql_stands_in_stores, FILE, 'a = f"DELETE FROM {b}"\n', 'a = f"{b} DELETE"\n'),
    (rules.work_is_started_in_groups, FILE, "asyncio.create_task(a())\n", "group.create_task(a())\n"),
    (rules.work_is_started_in_groups, FILE, "asyncio.ensure_future(a())\n", "asyncio.timeout(1)\n"),
    (rules.only_wire_and_bridge_make_requests, FILE, "import urllib.request\n", "import urllib.parse\n"),
    (rules.only_wire_and_bridge_make_requests, FILE, "from http import client\n",
     "from http import HTTPStatus\n"),
    (names_say_something, FILE, "def run_helper(): ...\n", "def start_job(): ...\n"),
    (names_say_something, FILE, "class RunManager: ...\n", "class Dispatcher: ...\n"),
    (names_say_something, FILE, "self.ctx = 1\n", "self.context = other.ctx\n"),
]  # fmt: skip


@pytest.mark.parametrize("rule", [*rules.RULES, names_say_something], ids=lambda rule: rule.__name__)
def test_the_source_keeps_the_rule(rule: Rule) -> None:
    broken = [violation for source in house_sources() for violation in rule(source)]
    assert not broken, "\n".join([rule.__doc__ or "", *broken])


@pytest.mark.parametrize(("rule", "path", "bad", "good"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_the_rule_notices_what_breaks_it_and_nothing_else(rule: Rule, path: str, bad: str, good: str) -> None:
    assert list(rule(Source(path, bad)))
    assert not list(rule(Source(path, good)))


def test_a_file_whose_name_says_nothing_is_refused() -> None:
    assert list(names_say_something(Source("src/carrel/runs/helpers.py", "")))


def test_nine_functions_of_ten_are_small() -> None:
    assert not list(rules.most_functions_are_small(house_sources()))


def test_the_rule_notices_that_too_many_functions_are_long() -> None:
    small, long = "def step():\n    act()\n", "def walk():\n" + "    step()\n" * 20
    assert not list(rules.most_functions_are_small([Source(FILE, small * 10 + long)]))
    assert list(rules.most_functions_are_small([Source(FILE, small * 9 + long)]))


def test_every_exception_has_a_reason_and_still_applies() -> None:
    reasons = [*exceptions.STORE_SIGNATURES.values(), *exceptions.SQL_FILES.values()]
    assert all(len(reason.split()) >= 4 for reason in reasons)
    sources = {source.module: source for source in house_sources()}
    for name in exceptions.STORE_SIGNATURES:
        module, _, function = name.rpartition(".")
        text = sources[module].text if module in sources else f"def {function}("
        assert f"def {function}(" in text or f"class {function}(" in text, f"{name} is gone: remove it"
    for path in exceptions.SQL_FILES:
        assert any(source.path == path for source in sources.values()), f"{path} is gone: remove it"
