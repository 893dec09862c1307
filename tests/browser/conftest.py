"""Fixtures of the browser tests: one browser and server per file, a fresh page per test."""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.harness.process import RunningServer, reaching, servers_in
from tests.scripted_gateway import ScriptedGateway

EXPECT_MS = 30_000

# The browser logs failed requests even if the page handles them: the check for a cookie, answers that are unclear or
# late, and requests while offline. A test that provokes another refusal names it in `refused`.
EXPECTED_ON_CONSOLE = (
    "401 (Unauthorized)",
    "/api/chat: 400 (Bad Request)",
    "/api/chat: 409 (Conflict)",
    "/connectivity: 500 (Internal Server Error)",
    "net::ERR_FAILED",
    "net::ERR_INTERNET_DISCONNECTED",
)


@pytest.fixture(scope="session")
def browser_path(request: pytest.FixtureRequest) -> str:
    """The browser to drive: CARREL_CHROMIUM, else one that is installed."""
    return os.environ.get("CARREL_CHROMIUM") or str(request.getfixturevalue("chromium_path"))


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Browser]:
    """A browser for one file; while it is open, its event loop blocks the thread for other tests."""
    expect.set_options(timeout=EXPECT_MS)
    flags = ["--disable-gpu", "--no-first-run", "--disable-background-networking"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        driven = playwright.chromium.launch(executable_path=browser_path, args=flags)
        yield driven
        driven.close()


@pytest.fixture(scope="module")
def gateway() -> Iterator[ScriptedGateway]:
    with ScriptedGateway() as running:
        yield running


@pytest.fixture(autouse=True)
def model(gateway: ScriptedGateway) -> ScriptedModel:
    """The replies of the model in this test."""
    scripted = ScriptedModel()
    gateway.rule = scripted.answer
    return scripted


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, gateway: ScriptedGateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server for one file; the mark `served` has more of its environment, and what prepares its folder."""
    mark = request.node.get_closest_marker("served")
    environment: dict[str, Any] = {"CARREL_SERVER__DRAIN_SECONDS": "1"} | (dict(mark.kwargs) if mark else {})
    folder = tmp_path_factory.mktemp("carrel")
    environment.pop("prepare", lambda _: None)(folder)
    with servers_in(folder) as start:
        yield start(**reaching(gateway) | environment)


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with server.client() as opened:
        yield Client(opened)


@pytest.fixture
def refused() -> list[str]:
    """What the console may show in this test besides EXPECTED_ON_CONSOLE: the refusals that the test provokes."""
    return []


@pytest.fixture
def new_page(browser: Browser, server: RunningServer, refused: list[str]) -> Iterator[OpenPage]:
    """Open pages that are not signed in; at the end, none may have logged an error."""
    complaints: list[str] = []
    opened = []

    def open_page(**options: Any) -> Page:
        window = browser.new_context(base_url=server.url, **options)
        window.set_default_timeout(EXPECT_MS)
        opened.append(window)
        page = window.new_page()
        page.on("console", lambda line: complaints.append(complaint_of(line)) if line.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for window in opened:
        window.close()
    expected = (*EXPECTED_ON_CONSOLE, *refused)
    assert {line for line in complaints if not any(part in line for part in expected)} == set()


def complaint_of(line: ConsoleMessage) -> str:
    """Return a line of the console; for a failed request with its path and status."""
    status = line.text.partition("with a status of ")[2]
    return f"{urlsplit(line.location['url']).path}: {status}" if status else line.text


@pytest.fixture
def signed_in(new_page: OpenPage, server: RunningServer) -> OpenPage:
    """Open dashboard pages that are signed in."""

    def open_page(path: str = "/", **options: Any) -> Page:
        page = new_page(**options)
        page.goto(f"{path}#token={server.token}")
        expect(page.get_by_role("status", name="Connection")).to_have_text("Live")
        return page

    return open_page
