"""What is committed is what the source builds, and names nobody's server."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.dashboard.node import BUILT, LOCK, SOURCE, TYPES, NoNode, api_types, build, node_and_npm, program, run

FIRST_CHUNK_BYTES_MAX = 180_000


@pytest.fixture(scope="session")
def node() -> str:
    """Node; without it nothing can be built here."""
    try:
        return node_and_npm()[0]
    except NoNode:
        pytest.skip("Node 20 or newer with npm is not installed")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(600)
def test_the_committed_files_are_what_the_source_builds(node: str, tmp_path: Path) -> None:
    build(tmp_path / "static")
    built, committed = contents(tmp_path / "static"), contents(BUILT)
    assert sorted(built) == sorted(committed), "run ./dev dashboard build"
    assert [name for name in built if built[name] != committed[name]] == [], "run ./dev dashboard build"


@pytest.mark.timeout(600)
def test_the_source_has_no_type_errors(node: str) -> None:
    run(program("tsc", "--noEmit"))


@pytest.mark.timeout(600)
def test_the_committed_types_are_those_of_our_api(node: str) -> None:
    assert api_types() == TYPES.read_text("utf-8"), "run ./dev dashboard types"


def test_the_lock_file_pins_every_package_and_names_no_host() -> None:
    lock = LOCK.read_text("utf-8")
    assert lock.count('"integrity"') > 100
    assert re.findall(r"https?://|git\+", lock) == []


def test_the_lock_file_holds_the_packages_of_every_system() -> None:
    packages = json.loads(LOCK.read_text("utf-8"))["packages"]
    wanted = {name for package in packages.values() for name in package.get("optionalDependencies", {})}
    assert wanted
    # Without them npm refuses the whole file.
    assert [name for name in sorted(wanted) if f"node_modules/{name}" not in packages] == []


def test_the_first_chunk_is_small() -> None:
    page = (BUILT / "index.html").read_text("utf-8")
    named = re.findall(r'"/static/(assets/[^"]+)"', page)
    sizes = {name: len(gzip.compress((BUILT / name).read_bytes())) for name in named}
    assert 0 < sum(sizes.values()) <= FIRST_CHUNK_BYTES_MAX, sizes


def test_the_source_never_writes_markup() -> None:
    wrong = re.compile(r"dangerouslySetInnerHTML|innerHTML|rehype-raw|localStorage\.setItem\([^)]*token", re.IGNORECASE)
    found = [path.name for path in (SOURCE / "src").rglob("*.ts*") if wrong.search(path.read_text("utf-8"))]
    assert found == []


def test_the_licences_of_what_is_bundled_come_with_it() -> None:
    licences = (BUILT / "licences.md").read_text("utf-8")
    named = set(re.findall(r"^## (\S+) - ", licences, re.MULTILINE))
    assert {"react", "react-dom", "cmdk", "@tanstack/react-router"} <= named
