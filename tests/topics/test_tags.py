"""What tags name: spaces, which are made where somebody may make them."""

from collections.abc import AsyncIterator

import pytest

from carrel.access import every_space
from carrel.journal import DEFAULT_SPACE
from carrel.topics.tags import ensure_spaces_of_tags, space_of_tag
from tests.harness.engine import Engine, open_engine
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(anyio_backend: str, store_url: str) -> AsyncIterator[Engine]:
    async with open_engine(store_url) as opened:
        yield opened


@requirement("S4.space.tags")
def test_tags_name_spaces_except_those_of_the_system() -> None:
    named = {
        "space:Work": "space-work", "Space: Big  Plans!": "space-big-plans", "urgent": "space-urgent",
        "project:alpha": "space-project-alpha", "system:hidden": None, " SYSTEM:x": None, "": None, "!!": None,
        "space:": None, "default": DEFAULT_SPACE, "space:Global": DEFAULT_SPACE, "all": DEFAULT_SPACE,
        "All Spaces": DEFAULT_SPACE, "space:all-spaces": DEFAULT_SPACE, "日本語": "space-日本語",
        "space:Привет Мир": "space-привет-мир", "हिन्दी": "space-हिन्दी", "Caf\u0065\u0301": "space-caf\u00e9",
    }  # fmt: skip
    assert {tag: space_of_tag(tag) for tag in named} == named


@requirement("S4.space.create", "S4.x.tag.colon")
async def test_tags_of_missing_spaces_make_each_of_them_once(engine: Engine) -> None:
    tags = ("space:Work", "work", "system:x", "Urgent")
    first = await engine.db.write(lambda tx: ensure_spaces_of_tags(tx, engine.access, tags))
    again = await engine.db.write(lambda tx: ensure_spaces_of_tags(tx, engine.access, ("urgent", "WORK")))
    assert (first, again) == (("space-work", "space-urgent"), ("space-urgent", "space-work"))
    spaces = await engine.read(lambda tx: every_space(tx, engine.access))
    assert [(space.id, space.name) for space in spaces] == [
        (DEFAULT_SPACE, "Default"), ("space-urgent", "Urgent"), ("space-work", "Work"),
    ]  # fmt: skip
