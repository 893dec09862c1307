"""The recipes for changing Carrel work: each is applied to a copy of the source, and its commands are run there."""

import re
import shutil
from pathlib import Path

import pytest

from tests.dashboard.node import NoNode, install
from tests.docs.pages import ROOT, matches, pieces_of
from tests.docs.reader import Terminal
from tests.harness.process import RunningServer, clean_environment

PAGE = ROOT / "docs" / "recipes.md"
RECIPES = {part.partition("\n")[0]: part for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]}
FILE = re.compile(r"^```(\w+) (\S*[./]\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES_MAX = 95
SECONDS_MAX = 300


def copy_of_source(folder: Path) -> Path:
    """Return a copy of everything that is built from, with this checkout's programs."""
    for name in ("src", "tests", "dashboard", "clients"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "static")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in (".venv", "dashboard/node_modules"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    static = Path("src/carrel/surfaces/dashboard/static")
    (folder / static).symlink_to(ROOT / static)
    return folder


def install_or_skip() -> None:
    """Install what the dashboard is built with, which the copy then uses too."""
    try:
        install()
    except NoNode:
        pytest.skip("Node 20 or newer with npm is not installed")


def apply(recipe: str, copy: Path) -> None:
    """Write the files of a recipe, and change the lines of others that it shows."""
    for kind, name, body in FILE.findall(recipe):
        file = copy / name
        if kind != "diff":
            file.parent.mkdir(exist_ok=True)
            file.write_text(body, encoding="utf-8")
            continue
        old, new = ("".join(f"{line[1:]}\n" for line in body.splitlines() if line[0] in kept) for kept in (" -", " +"))
        text = file.read_text(encoding="utf-8")
        # The last line may go on.
        assert text.count(old.rstrip("\n")) == 1, f"{name} has not one place with:\n{old}"
        file.write_text(text.replace(old.rstrip("\n"), new.rstrip("\n")), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_works_on_a_copy_of_the_source(title: str, tmp_path: Path) -> None:
    if "tests.dashboard" in RECIPES[title]:
        install_or_skip()
    copy, home = copy_of_source(tmp_path / "copy"), tmp_path / "home"
    apply(RECIPES[title], copy)
    (data := home / ".carrel").mkdir(parents=True)
    environment = clean_environment(home) | {"PYTHONPATH": f"{copy / 'src'}:{copy}"}
    server = RunningServer(data, environment)
    try:
        terminal = Terminal(copy, environment, SECONDS_MAX)
        for piece in pieces_of(PAGE, "recipe"):
            if piece.code in RECIPES[title]:
                typed = terminal.type(piece.language, piece.code)
                assert not typed.failed, f"{piece.page}:{piece.line}: {typed.failed} failed:\n{typed.out}{typed.err}"
                assert matches(typed.out, piece.output or ""), f"{piece.page}:{piece.line} printed:\n{typed.out}"
    finally:
        server.close()


def test_every_recipe_is_short_and_shows_that_it_works() -> None:
    assert len(RECIPES) == 4
    for title, recipe in RECIPES.items():
        assert len(recipe.splitlines()) <= LINES_MAX, title
        assert FILE.findall(recipe), title
        assert recipe.count("```sh recipe") == recipe.count("```text output") == 1, title
