"""Signing in: a token is exchanged for a cookie and stored nowhere else."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.talking import Client, OpenPage
from tests.harness.process import RunningServer
from tests.requirements.mark import requirement

EVERYTHING_KEPT = """() => JSON.stringify([
  location.href, document.cookie, Object.entries(localStorage), Object.entries(sessionStorage), history.state,
  document.documentElement.outerHTML, [...document.querySelectorAll('input')].map((field) => field.value),
])"""


def home(page: Page) -> None:
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()


def test_a_token_in_the_address_signs_in_and_leaves_the_address(new_page: OpenPage, server: RunningServer) -> None:
    page = new_page()
    page.goto(server.dashboard)
    home(page)
    assert page.url == f"{server.url}/"


@requirement("P.ui.token")
def test_the_token_is_kept_in_no_storage(new_page: OpenPage, server: RunningServer) -> None:
    page = new_page()
    page.goto(server.dashboard)
    home(page)
    assert server.token not in page.evaluate(EVERYTHING_KEPT)
    assert all(server.token not in str(cookie) for cookie in page.context.cookies())
    page.reload()
    home(page)


def test_a_token_typed_into_the_form_signs_in_with_enter(new_page: OpenPage, server: RunningServer) -> None:
    page = new_page()
    page.goto("/")
    field = page.get_by_role("textbox", name="Token")
    expect(field).to_be_focused()
    field.fill(server.token)
    field.press("Enter")
    home(page)
    assert server.token not in page.evaluate(EVERYTHING_KEPT)


def test_a_wrong_token_is_refused_in_words(new_page: OpenPage, server: RunningServer) -> None:
    page = new_page()
    page.goto("/")
    page.get_by_role("textbox", name="Token").fill("crl_owner_nobody_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.get_by_role("textbox", name="Token").fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    home(page)


def test_a_wrong_token_in_the_address_leads_to_the_form(new_page: OpenPage) -> None:
    page = new_page()
    page.goto("/chat#token=crl_owner_nobody_wrong")
    expect(page.get_by_role("alert")).to_contain_text("not known")
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    assert "crl_owner" not in page.evaluate(EVERYTHING_KEPT)


@pytest.mark.parametrize("path", ["/", "/chat", "/chat/agent%3Amain%3Amain"])
def test_every_route_without_a_session_shows_the_form(new_page: OpenPage, path: str) -> None:
    page = new_page()
    page.goto(path)
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_signing_out_ends_the_session(signed_in: OpenPage) -> None:
    page = signed_in()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
    page.reload()
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()


def test_an_empty_home_shows_how_to_begin(signed_in: OpenPage) -> None:
    page = signed_in()
    expect(page.get_by_text("No conversations yet")).to_be_visible()
    page.get_by_role("link", name="Start a chat").click()
    expect(page.get_by_role("heading", level=1, name="Chat")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


def test_a_token_that_is_revoked_meanwhile_leads_to_the_form_and_says_why(
    new_page: OpenPage, server: RunningServer, client: Client
) -> None:
    made = client.post("/api/tokens", {"kind": "owner", "name": "For a day"})
    page = new_page()
    page.goto(f"/#token={made['secret']}")
    expect(page.get_by_role("status", name="Connection")).to_have_text("Live")
    client.http.delete(f"/api/tokens/{made['token']['id']}").raise_for_status()
    page.get_by_role("link", name="Usage").click()
    expect(page.get_by_role("alert")).to_contain_text("revoked or has expired")
    expect(page.get_by_role("textbox", name="Token")).to_be_visible()
