"""The source as the rules see it: one value per file, parsed once."""

import ast
import functools
import io
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "carrel"

type_of_function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Source:
    """One Python file, by its path from the root of the repository."""

    path: str
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @functools.cached_property
    def comments(self) -> dict[int, str]:
        """The comments by line number."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def module(self) -> str:
        """The dotted name under which the file is imported."""
        dotted = self.path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return dotted.removesuffix(".__init__")

    @property
    def is_store(self) -> bool:
        """Whether the file holds a room's SQL: `store.py`, or a part of a store that is split into several files."""
        stem = self.name.removesuffix(".py")
        return "/store/" in self.path or stem == "store" or stem.startswith("store_") or stem.endswith("_store")


def read(path: Path) -> Source:
    """Return the file as a Source."""
    return Source(path=path.relative_to(ROOT).as_posix(), text=path.read_text(encoding="utf-8"))


@functools.cache
def house_sources() -> tuple[Source, ...]:
    """Return every Python file of the package `carrel`."""
    return tuple(read(path) for path in sorted(PACKAGE.rglob("*.py")))


@functools.cache
def suite_sources() -> tuple[Source, ...]:
    """Return every Python file of the test suite."""
    return tuple(read(path) for path in sorted((ROOT / "tests").rglob("*.py")))


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every file that is or would be committed, except what is not text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in sorted(filter(None, listed.split("\0"))):
        path = ROOT / name
        if path.is_file():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
