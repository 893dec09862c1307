"""MCP servers: how they do, what they offer, a test of one, and the agents that use them."""

import shlex
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage
from tests.connectors.plain import plain
from tests.requirements.mark import requirement

SETTINGS = """
[mcp.plain]
command = "{command}"
args = ["{args}"]
accounts = ["*"]

[mcp.broken]
command = "/nowhere/at-all"
"""


def configure(folder: Path) -> None:
    """Name an MCP server that works and one that does not."""
    set_up = SETTINGS.format(command=plain().command, args='", "'.join(plain().args))
    (folder / "carrel.toml").write_text(set_up)


pytestmark = pytest.mark.served(prepare=configure)


@requirement("P.mcp.page")
def test_a_server_is_tested_and_shows_what_it_offers(signed_in: OpenPage) -> None:
    page = signed_in("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="MCP servers").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("MCP servers")
    row = page.get_by_role("table", name="MCP servers").get_by_role("row").filter(has_text="plain")
    expect(row).to_contain_text("Not started yet")
    expect(row).to_contain_text(shlex.join((plain().command, *plain().args)))
    row.click()
    peek = page.get_by_role("complementary", name="plain")
    peek.get_by_role("button", name="Test").click()
    expect(peek.get_by_role("status")).to_have_text("It works and offers 6 tools.")
    expect(peek).to_contain_text("6 tools, 1 of which may write")
    expect(peek).to_contain_text("Accounts")
    tools = peek.get_by_role("region", name="Tools")
    expect(tools.get_by_role("listitem").filter(has_text="plain_look")).to_contain_text("reads")
    expect(tools.get_by_role("listitem").filter(has_text="plain_change")).to_contain_text("writes")
    expect(row).to_contain_text("Works")
    # What is open is in the address.
    page.reload()
    expect(page.get_by_role("complementary", name="plain")).to_contain_text("plain_look")


@requirement("P.mcp.page")
def test_a_server_that_cannot_be_started_says_why(signed_in: OpenPage) -> None:
    page = signed_in("/mcp-servers?peek=broken")
    peek = page.get_by_role("complementary", name="broken")
    peek.get_by_role("button", name="Test").click()
    expect(peek.get_by_role("status")).to_contain_text("The command /nowhere/at-all cannot be started")
    row = page.get_by_role("table", name="MCP servers").get_by_role("row").filter(has_text="broken")
    expect(row).to_contain_text("Failed")


@requirement("P.mcp.page")
def test_an_owner_chooses_the_servers_of_an_agent(signed_in: OpenPage, client: Client) -> None:
    page = signed_in("/agents?peek=main")
    page.get_by_role("complementary", name="Main").get_by_role("button", name="Edit").click()
    page.get_by_role("group", name="MCP servers whose tools it gets").get_by_role("checkbox", name="plain").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert client.http.get("/api/agents/main").json()["agent"]["mcp"] == ["plain"]
    page.get_by_role("complementary", name="Main").get_by_role("button", name="Tools").click()
    page.get_by_role("complementary", name="Main").get_by_role("link", name="plain").click()
    expect(page.get_by_role("complementary", name="plain").get_by_role("link", name="Main")).to_be_visible()
