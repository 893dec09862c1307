"""Features that this version does not offer are mentioned nowhere."""

import re
from pathlib import Path

import msgspec
import pytest

import carrel.surfaces.dashboard
from carrel.main.assembly import whole_document
from carrel.tools import CATALOG
from tests.requirements.mark import requirement

ABSENT = re.compile(r"document tree|documents?/|memory[ -]?map|\bdrafts?\b|document_(?:upsert|list)", re.IGNORECASE)
PAGES = Path(carrel.surfaces.dashboard.__file__).with_name("static")
OFFERED = {
    "the API": msgspec.json.encode(whole_document()).decode(),
    "the tools": " ".join(f"{tool.name} {tool.description}" for tool in CATALOG.offered()),
    "the pages": " ".join(file.read_text("utf-8") for file in sorted(PAGES.rglob("*.html"))),
}


@requirement("P.absent")
@pytest.mark.parametrize("text", OFFERED.values(), ids=OFFERED.keys())
def test_no_document_tree_memory_map_or_draft_is_mentioned(text: str) -> None:
    assert text
    assert ABSENT.findall(text) == []
