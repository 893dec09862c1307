"""The names of what a tick carries are written once."""

import re
from pathlib import Path

from carrel.modes.auto import model
from tests.requirements.mark import requirement

SOURCES = Path(model.__file__).parents[2]
NAMES = (
    "AUTO_RUN_KIND",
    "AUTO_RUN_ID",
    "AUTO_GOAL_ID",
    "AUTO_TASK_ID",
    "SESSION_IDENTITY_CHANNEL",
    "SESSION_IDENTITY_CONVERSATION",
)


@requirement("S3.auto.constants")
def test_each_name_is_a_literal_in_one_place_only() -> None:
    literal = re.compile(f"""[\"'](?:{"|".join(NAMES)})[\"']""")
    found = {
        file.relative_to(SOURCES).as_posix(): literal.findall(file.read_text(encoding="utf-8"))
        for file in SOURCES.rglob("*.py")
    }
    assert {name: sorted(seen) for name, seen in found.items() if seen} == {
        "modes/auto/model.py": sorted(f'"{name}"' for name in NAMES)
    }
    assert set(model.RunAttributes.__struct_encode_fields__) == set(NAMES)
