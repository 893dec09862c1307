"""The tests keep their own rules, and every rule notices when it is broken."""

from collections.abc import Callable, Iterator

import pytest

from tests.house import exceptions, suite_rules
from tests.house.source import Source, suite_sources

Rule = Callable[[Source], Iterator[str]]
OURS = "from carrel.runs import queue\nfrom carrel.exchanges import Exchanges\nfrom carrel.storage import Duty, Tx\n"
FAKE = OURS + "class Fake:\n    pass\n"

WAITS, READS, STANDS_IN = suite_rules.SUITE_RULES

# For each rule a test that breaks it and one, as like as possible, that does not.
PLANTED: list[tuple[Rule, str, str]] = [
    (WAITS, "time.sleep(1)\n", "time.sleep(0)\n"),
    (WAITS, "await asyncio.sleep(0.01)\n", "await asyncio.sleep(0)\n"),
    (WAITS, "await anyio.sleep(PAUSE)\n", "await anyio.lowlevel.checkpoint()\n"),
    (WAITS, "from time import sleep\nsleep(1)\n", "asleep(1)\n"),
    (WAITS, "await bell.wait(version, 0.2)\n", "await bell.wait(version, 20)\n"),
    (WAITS, "await bell.wait(bell.version, 20)\n",
     "version = bell.version\nlook()\nawait bell.wait(version, 20)\n"),
    (WAITS, "Event().wait(0.1)\n", "Event().wait(SECONDS_MAX)\n"),
    (WAITS, "PAUSE = 0.1\nended.wait(PAUSE)\n", "PAUSE = 10\nended.wait(PAUSE)\n"),
    (WAITS, "await asyncio.wait_for(reply, 0.5)\n",
     "await asyncio.wait_for(reply, 30)\n"),
    (WAITS, "await asyncio.wait({task}, timeout=1)\n",
     "await asyncio.wait({task}, timeout=10)\n"),
    (WAITS, "async with asyncio.timeout(0.05):\n    pass\n",
     "async with asyncio.timeout(15):\n    pass\n"),
    (WAITS, "await within(first, 2.0)\n", "await within(first)\n"),
    (READS, "import time\na = time.monotonic()\n", "a = clock.now_ms()\n"),
    (READS, "from time import perf_counter\n", "from time import strftime\n"),
    (READS, "from carrel.kernel import elapsed_seconds\n", "from carrel.kernel import iso\n"),
    (READS, "asyncio.get_running_loop().time()\n", "asyncio.get_running_loop().stop()\n"),
    (STANDS_IN, "from unittest.mock import Mock\n", "from unittest import TestCase\n"),
    (STANDS_IN, "from types import SimpleNamespace\n", "from types import ModuleType\n"),
    (STANDS_IN, OURS + "monkeypatch.setattr(queue, 'deliver', say)\n",
     OURS + "monkeypatch.setattr(webbrowser, 'open', say)\n"),
    (STANDS_IN, "monkeypatch.setattr('carrel.runs.queue.deliver', say)\n",
     "monkeypatch.setattr('sys.stdin', said)\n"),
    (STANDS_IN, OURS + "for one in (queue, 1):\n    patch.setattr(one, 'deliver', say)\n",
     OURS + "for one in (a, b):\n    patch.setattr(one, 'deliver', say)\n"),
    (STANDS_IN, OURS + "queue.deliver = say\n", OURS + "deliver = queue.deliver\n"),
    (STANDS_IN, OURS + "class Broken(Exchanges):\n    pass\n",
     OURS + "class Chores(Duty[str]):\n    pass\n"),
    (STANDS_IN, OURS + "cast(Tx, fake)\n", OURS + "cast(str, fake)\n"),
    (STANDS_IN, FAKE + "read(Fake())  # type: ignore[arg-type]\n",
     FAKE + "read(state)  # type: ignore[arg-type]\n"),
]  # fmt: skip


@pytest.mark.parametrize("rule", suite_rules.SUITE_RULES, ids=lambda rule: rule.__name__)
def test_the_suite_keeps_the_rule(rule: Rule) -> None:
    broken = [violation for source in suite_sources() for violation in rule(source)]
    assert not broken, "\n".join([rule.__doc__ or "", *broken])


@pytest.mark.parametrize(("rule", "broken", "kept"), PLANTED)
def test_every_rule_of_the_suite_notices_what_breaks_it(rule: Rule, broken: str, kept: str) -> None:
    assert list(rule(Source("tests/test_a.py", broken)))
    assert not list(rule(Source("tests/test_a.py", kept)))


def test_every_exception_of_the_suite_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"BY_THE_CLOCK": exceptions.BY_THE_CLOCK, "STAND_INS": exceptions.STAND_INS}
    for name in listed:
        monkeypatch.setattr(suite_rules, name, {})
    found = [line for rule in suite_rules.SUITE_RULES for source in suite_sources() for line in rule(source)]
    for path in exceptions.BY_THE_CLOCK:
        assert any(line.startswith(path) for line in found), path
    for stand_in in exceptions.STAND_INS:
        path, _, name = stand_in.partition(": ")
        assert any(line.startswith(f"{path}:") and line.endswith(f": {name}") for line in found), stand_in
