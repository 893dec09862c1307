"""A gateway that nothing answers at: every page says so, and can still be used."""

import pytest
from playwright.sync_api import expect

from tests.browser.talking import OpenPage
from tests.requirements.mark import requirement

pytestmark = pytest.mark.served(CARREL_GATEWAY__DEFAULT__BASE_URL="http://127.0.0.1:9")


@requirement("P.ui.access")
@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_said_about_a_gateway_pushes_nothing_out_of_the_window(signed_in: OpenPage, width: int) -> None:
    page = signed_in("/chat", viewport={"width": width, "height": 800})
    expect(page.get_by_role("status", name="Gateways")).to_contain_text("cannot be reached")
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_in_viewport(ratio=1)
