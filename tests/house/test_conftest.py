"""The suite's own hooks: what is skipped, what is slow, and what a failed test reports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import NOT_SLOW, SLOW_PATHS
from tests.house.source import ROOT
from tests.requirements.manifest import explain
from tests.requirements.mark import requirement

SKIPPED_TEST = "import pytest\n\ndef test_it():\n    pytest.skip('no browser')\n"
SKIPPED_FILE = "import pytest\n\npytest.importorskip('no_such_package_at_all')\n\ndef test_it(): ...\n"
FAILURE = """
from tests.requirements.mark import requirement

@requirement("S1.get", "P.kill")
def test_it():
    assert False
"""
SLOW = """
import pytest
from hypothesis import given
from hypothesis.strategies import integers

@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_on_a_store(store): ...

def test_of_a_process(start): ...

def test_of_a_browser(chromium_path): ...

@pytest.mark.slow
def test_that_says_so(): ...

@given(integers())
def test_that_searches(number): ...
"""
EXPECTED_FAILURE = "import pytest\n\n@pytest.mark.xfail\ndef test_it():\n    raise ValueError\n"


def run(folder: Path, text: str, *options: str, required: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the text as a test file of its own under the suite's conftest."""
    path = folder / "test_planted.py"
    path.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", str(path)]
    environment = {**os.environ, "CARREL_REQUIRE_ALL": "1" if required else "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = (*options, "--rootdir", str(folder), "-c", os.devnull, "-W", "ignore::pytest.PytestUnknownMarkWarning")
    return subprocess.run(
        [*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@requirement("S3.verify")
@pytest.mark.parametrize("text", [SKIPPED_TEST, SKIPPED_FILE], ids=["one test", "a whole file"])
def test_what_is_skipped_elsewhere_fails_where_everything_is_required(tmp_path: Path, text: str) -> None:
    assert "1 skipped" in run(tmp_path, text).stdout
    required = run(tmp_path, text, required=True)
    assert required.returncode != 0
    assert "skipped although everything is required" in required.stdout


def test_an_expected_failure_is_not_a_skip(tmp_path: Path) -> None:
    assert run(tmp_path, EXPECTED_FAILURE, required=True).returncode == 0


def test_a_failed_test_shows_the_sentences_of_its_requirements(tmp_path: Path) -> None:
    output = run(tmp_path, FAILURE).stdout
    assert explain("S1.get") in output
    assert explain("P.kill") in output


def test_what_needs_postgresql_a_process_or_a_browser_or_searches_is_slow(tmp_path: Path) -> None:
    assert "1 passed, 5 deselected" in run(tmp_path, SLOW, "-m", NOT_SLOW).stdout


def test_every_path_that_is_slow_exists() -> None:
    assert [path for path in SLOW_PATHS if not (ROOT / "tests" / path).exists()] == []
