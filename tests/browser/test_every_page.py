"""Every page in the world of the demo: accessible, never too wide, quiet, and deaf to hostile texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.conftest import EXPECT_MS
from tests.browser.places import PLACES, USABLE, Place, places
from tests.browser.talking import Client, ScriptedModel
from tests.browser.world import MARK, add_hostile, build_world
from tests.harness.process import RunningServer
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway

# Axe looks at every element, and this file at every page.
pytestmark = [pytest.mark.timeout(600), pytest.mark.served(prepare=build_world)]
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
WINDOWS: dict[str, ViewportSize] = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
CONTRAST = "color-contrast"
# What axe looks for in each window and each scheme. Contrast takes it longer than all other rules together, and no
# other rule depends on the scheme; what only a narrow window shows is compared in the dark.
RULES: dict[tuple[str, str], dict[str, Any]] = {
    ("wide", "light"): {},
    ("wide", "dark"): {"runOnly": {"type": "rule", "values": [CONTRAST]}},
    ("narrow", "light"): {"rules": {CONTRAST: {"enabled": False}}},
    ("narrow", "dark"): {"runOnly": {"type": "rule", "values": [CONTRAST]}},
}
RUN_AXE = """(options) => axe.run(document, { resultTypes: ['violations'], preload: false, ...options }).then((found) =>
  found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`)))"""
# What a script of ours could not do unnoticed: run what it was given, or ask for what the policy forbids.
WATCH = """window.refusedByPolicy = [];
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
  window.refusedByPolicy.push(`${violatedDirective} ${blockedURI}`);
});"""
A_MOMENT_MS = 1000
A_WHILE_MS = 10 * 60 * 1000
LOOKS_MAX = 20


@dataclass
class Window:
    """A browser window for all pages, and what happened in it."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, place: Place) -> None:
        """Open a page and wait until it can be used."""
        self.asked.clear()
        self.complaints.clear()
        self.page.goto(place.path)
        self.page.wait_for_function(USABLE, arg=place.content)
        expect(self.page.get_by_role("status", name="Connection").first).to_have_attribute("data-state", "live")

    def asks_within(self, milliseconds: int) -> list[str]:
        """Move the page's clock; return what the page asks the server for meanwhile."""
        self.asked.clear()
        self.page.clock.fast_forward(milliseconds)
        # Whatever a timer asked for is known when this answer is there.
        self.page.evaluate("fetch('/healthz')")
        return [url for url in self.asked if not url.endswith("/healthz")]


@pytest.fixture(scope="module")
def window(browser: Browser, server: RunningServer) -> Iterator[Window]:
    context = browser.new_context(base_url=server.url, reduced_motion="reduce")
    context.set_default_timeout(EXPECT_MS)
    context.add_init_script(AXE)
    context.add_init_script(WATCH)
    context.request.post("/api/auth/session", data={"token": server.token})
    opened = Window(context.new_page())
    context.on("request", lambda request: opened.asked.append(request.url))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("console", lambda line: opened.complaints.append(line.text) if line.type == "error" else None)
    # At noon: a page that shows days asks again at midnight, which no test may reach by moving on.
    opened.page.clock.install(time=datetime.now().replace(hour=12, minute=0))  # noqa: DTZ005  # The browser's own day.
    yield opened
    context.close()


@pytest.fixture(scope="module")
def addresses(server: RunningServer) -> dict[str, Place]:
    with server.client() as http:
        return places(http)


def newest_event(server: RunningServer) -> int:
    with server.client() as http:
        seq: int = http.get("/api/auth/me").json()["seq"]
    return seq


@requirement("P.ui.access", "P.ui.quiet")
@pytest.mark.parametrize("name", PLACES)
def test_a_page_is_accessible_fits_every_window_and_asks_for_nothing_by_itself(
    window: Window, addresses: dict[str, Place], server: RunningServer, name: str
) -> None:
    page = window.page
    for width, size in WINDOWS.items():
        page.set_viewport_size(size)
        window.open(addresses[name])
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        page.emulate_media(color_scheme="light")
        assert page.evaluate(RUN_AXE, RULES[width, "light"]) == [], f"light, {width}"
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(RUN_AXE, RULES[width, "dark"]) == [], f"dark, {width}"
    # Opening a page is an event of its own, and the world may still be at work: events make pages ask.
    asked = ["it never comes to rest"]
    for _ in range(LOOKS_MAX):
        if window.asks_within(A_MOMENT_MS):
            continue
        seq, asked = newest_event(server), window.asks_within(A_WHILE_MS)
        if newest_event(server) == seq:
            break
    assert asked == [], "a page that is live does not poll"
    assert window.complaints == []


@pytest.fixture(scope="module")
def hostile(server: RunningServer, gateway: ScriptedGateway, addresses: dict[str, Place]) -> dict[str, str]:
    """The addresses that show hostile texts; `addresses` comes first, because these pages are full of them."""
    model = ScriptedModel()
    gateway.rule = model.answer
    with server.client() as http:
        return add_hostile(Client(http), model)


@requirement("P.ui.hostile")
def test_hostile_names_titles_markdown_files_and_tool_results_run_nothing(
    window: Window, hostile: dict[str, str], server: RunningServer
) -> None:
    page = window.page
    page.set_viewport_size(WINDOWS["wide"])
    for name, path in hostile.items():
        window.open(Place(path, "#main"))
        if name != "usage":
            expect(page.locator("body"), name).to_contain_text(MARK)
        assert page.evaluate("[window.taken ?? null, window.refusedByPolicy]") == [None, []], name
        assert [url for url in window.asked if not url.startswith((server.url, server.url.replace("http", "ws")))] == []
        assert (
            page.locator("a[href^='javascript' i], a[href^='data' i], iframe, #main script, #main style").count() == 0
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= WINDOWS["wide"]["width"], name
        assert window.complaints == [], name


@requirement("P.ui.unknown")
@pytest.mark.parametrize(
    "path", ["/nowhere", "/tasks/nothing", "/runs/nothing", "/runs/nothing/more", "/sessions/nothing", "/chat/null"]
)
def test_an_address_of_nothing_has_a_page_that_says_so(window: Window, path: str) -> None:
    # In a narrow one the navigation is behind a button.
    window.page.set_viewport_size(WINDOWS["wide"])
    window.page.goto(path)
    main = window.page.locator("#main")
    expect(main).to_contain_text("no ")
    expect(main.get_by_role("button", name="Try again")).to_have_count(0)
    expect(main.get_by_role("heading", level=1)).to_be_visible()
    expect(window.page.get_by_role("navigation", name="Main").get_by_role("link", name="Board")).to_be_visible()
