"""The guide to context windows: its settings fit, and its figures are those of requests that were made."""

import re
import tomllib

import pytest

from tests.docs.windows import PAGE, WINDOWS, Window, sent, table, tokens_of, written
from tests.requirements.mark import requirement


@requirement("A.budget")
def test_the_figures_of_the_guide_are_those_of_requests() -> None:
    assert written() == table(), "run: python -m tests.docs.windows"


@requirement("A.budget")
@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: f"{window.tokens}")
def test_a_quarter_of_the_window_is_left_for_the_answer(window: Window) -> None:
    assert tokens_of(sent(window)) <= window.tokens * 3 / 4


@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: f"{window.tokens}")
def test_the_guide_shows_the_settings_that_were_measured(window: Window) -> None:
    shown = re.findall(rf"```toml\n# {window.tokens:,} tokens\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (given,) = map(tomllib.loads, shown)
    delivery, context = window.settings.delivery, window.settings.context
    for room, measured in {"delivery": delivery, "context": context}.items():
        assert {name: getattr(measured, name) for name in given.get(room, {})} == given.get(room, {})
