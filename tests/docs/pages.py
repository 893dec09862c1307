"""The pages of the manual and the code blocks in them that the tests run.

A block that starts with ```sh run or ```python run is executed; a ```text output block after it is what it must print,
where … matches anything. The blocks of a page run in order against one server.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)|(?:src|srcset)=\"(?P<image>[^\"]+)\"")


@dataclass(frozen=True)
class Piece:
    """A block to run, and the expected output if the page shows it."""

    page: str
    line: int
    language: str
    code: str
    output: str | None


def pages() -> list[Path]:
    """Every page of the manual."""
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def pieces_of(page: Path, word: str = "run") -> list[Piece]:
    """Return the blocks of a page that are run, in order; another word marks those that need more than a server."""
    text = page.read_text(encoding="utf-8")
    found: list[Piece] = []
    for block in _FENCE.finditer(text):
        head = block["head"].split()
        if head == ["text", "output"] and found:
            last = found.pop()
            found.append(Piece(last.page, last.line, last.language, last.code, block["body"]))
        elif head[1:] == [word]:
            line = text.count("\n", 0, block.start()) + 1
            found.append(Piece(str(page.relative_to(ROOT)), line, head[0], block["body"], None))
    return found


def matches(printed: str, expected: str) -> bool:
    """Tell whether the output is what the page shows; … matches anything."""
    pattern = re.escape(expected.strip()).replace("…", ".*")
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def links_of(page: Path) -> list[str]:
    """Return the targets of a page's links and images that are inside the manual."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    found = [match["to"] or match["image"] for match in _LINK.finditer(text)]
    return [to for to in found if "://" not in to and not to.startswith(("#", "mailto:"))]


def headings_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {_anchor(title) for title in titles}


def sections_of(page: Path) -> dict[str, str]:
    """Return the text below each heading of the second level, by its anchor."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {_anchor(title): text for title, text in zip(parts[::2], parts[1::2], strict=True)}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
