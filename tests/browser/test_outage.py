"""A gateway that nothing answers at: every page says so, and can still be used."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.talking import OpenPage
from tests.harness.process import RunningServer, servers_in
from tests.requirements.mark import requirement
from tests.scripted_gateway import MODEL

NOWHERE = {"KIND": "responses", "BASE_URL": "http://127.0.0.1:9", "MODEL": MODEL}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers_in(tmp_path_factory.mktemp("carrel")) as start:
        yield start(**{f"CARREL_GATEWAY__DEFAULT__{name}": value for name, value in NOWHERE.items()})


@requirement("P.ui.access")
@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_said_about_a_gateway_pushes_nothing_out_of_the_window(signed_in: OpenPage, width: int) -> None:
    page = signed_in("/chat", viewport={"width": width, "height": 800})
    expect(page.get_by_role("status", name="Gateways")).to_contain_text("cannot be reached")
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_in_viewport(ratio=1)
