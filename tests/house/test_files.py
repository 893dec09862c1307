"""Committed files name no machine and no registry, and none of them sets up a server."""

import re

import pytest

from tests.house.source import tracked_texts

# Written in parts, so that this file does not break its own rule.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "yarn" + "pkg.com"]
PLACES = [r"(?<![\w.}>*-])/" + rf"{folder}/\w" for folder in ("root", "home", "Users", "work", "mnt", "workspace")]
REFUSED = re.compile("|".join([*map(re.escape, REGISTRIES), *PLACES]))


def strange_words(text: str) -> list[str]:
    """Return the words that name a machine or a registry."""
    return REFUSED.findall(text)


def test_committed_files_name_no_machine_path_and_no_registry() -> None:
    found = [f"{path}: {', '.join(words)}" for path, text in tracked_texts() if (words := strange_words(text))]
    assert not found, "\n".join(found)


def test_no_settings_are_committed_that_dev_up_would_start_with() -> None:
    assert "carrel.toml" not in {path for path, _ in tracked_texts()}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("see /" + "home/ann/notes", True),
        ("in /" + "work/main", True),
        ("https://" + REGISTRIES[0] + "/simple", True),
        ("src/carrel/board/store.py", False),
        ("a room called work/ and a /home page", False),
    ],
)
def test_the_rule_tells_a_machine_path_from_a_path_of_ours(text: str, refused: bool) -> None:
    assert bool(strange_words(text)) == refused
