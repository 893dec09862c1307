"""Usage, health, settings and models: how it goes, and what it costs."""

import re

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.scripted_dialects import ScriptedChat
from tests.scripted_gateway import http_error, text


def test_usage_counts_a_run_when_it_ends_and_narrows_to_what_is_opened(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Ledger")
    client.ended(client.say(key, "Add up the first page"))
    page = signed_in("/usage?by=session")
    row = page.get_by_role("table", name="Usage by session").get_by_role("row").filter(has_text="Ledger")
    expect(row.get_by_role("cell").nth(1)).to_have_text("1")
    expect(row).to_contain_text("unknown")
    client.ended(client.say(key, "Add up the second page"))
    expect(row.get_by_role("cell").nth(1)).to_have_text("2")
    expect(page.get_by_role("figure").filter(has_text="Runs a day").get_by_role("table")).to_contain_text("2")
    row.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("session=agent"))
    page.reload()
    expect(page.get_by_role("button", name=re.compile("Stop showing only"))).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name=re.compile("Stop showing only"))).to_have_count(0)


def test_health_names_every_part_and_follows_the_runs_at_work(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in("/health")
    parts = page.get_by_role("region", name="Parts").get_by_role("listitem")
    expect(parts).to_have_count(6)
    expect(parts.first).to_contain_text("OK")
    expect(page.get_by_role("region", name="Search and filing")).to_contain_text("Follower: Search")
    busy = page.locator("dl > div").filter(has_text="Runs at work").get_by_role("definition")
    expect(busy).to_have_text("0")
    gate = model.hold("Work a while")
    run = client.say(client.open_lane("Busy"), "Work a while")
    expect(busy).to_have_text("1")
    gate.open()
    client.ended(run)
    expect(busy).to_have_text("0")


def test_settings_show_the_account_and_where_each_value_comes_from_and_are_read_again(
    signed_in: OpenPage, client: Client
) -> None:
    page = signed_in("/settings?origin=env")
    account = client.http.get("/api/account").json()["account"]
    expect(page.get_by_role("region", name="Account").get_by_role("heading")).to_have_text(account["name"])
    rows = page.get_by_role("table", name="Settings of the server")
    expect(rows.get_by_role("row").filter(has_text="gateway.default.kind")).to_contain_text("Environment")
    page.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("status").filter(has_text="Nothing has changed.")).to_be_visible()
    page.get_by_role("textbox", name="Name of the account").fill("Reading room <3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Account").get_by_role("heading")).to_have_text("Reading room <3")
    assert client.http.get("/api/account").json()["account"]["name"] == "Reading room <3"


def test_a_gateway_answers_a_test_turn_in_a_session_of_its_own(signed_in: OpenPage, model: ScriptedModel) -> None:
    model.on("Say hello in one short sentence.", text("Hello from **here**."))
    page = signed_in("/models?peek=default")
    trial = page.get_by_role("region", name="Test turn")
    trial.get_by_role("button", name="Say hello").click()
    expect(trial).to_contain_text("It answered")
    expect(trial).to_contain_text("Hello from here.")
    expect(trial).to_contain_text("tokens in")


def test_a_model_is_connected_in_the_browser_and_its_key_is_not_shown(signed_in: OpenPage) -> None:
    page = signed_in("/models")
    page.get_by_role("button", name="Connect a model").click()
    dialog = page.get_by_role("dialog", name="Connect a model")
    with ScriptedChat() as other:
        dialog.get_by_role("textbox", name="Server").fill("http://127.0.0.1:9")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("127.0.0.1:9")
        dialog.get_by_role("textbox", name="Server").fill(other.base_url)
        dialog.get_by_role("textbox", name="Key").fill("sk-secret-0123")
        other.script(*[http_error(400, "messages is required")] * 2, text("Hello from the other one."))
        dialog.get_by_role("button", name="Ask it").click()
        expect(dialog.get_by_role("status")).to_contain_text("speaks Chat Completions; it lists 1 model.")
        dialog.get_by_role("textbox", name="Name of the gateway").fill("other")
        dialog.get_by_role("button", name="Connect").click()
        expect(page).to_have_url(re.compile("peek=other"))
        peek = page.get_by_role("complementary", name="other")
        expect(peek).to_contain_text("api_key_file")
        assert "sk-secret" not in page.content()


def test_health_shows_what_the_duties_of_the_server_did(signed_in: OpenPage) -> None:
    duties = signed_in("/health").get_by_role("table", name="Duties")
    expect(duties.get_by_role("row").filter(has_text="Schedules")).to_contain_text("none")


def test_people_tokens_schedules_and_models_appear_when_another_client_makes_them(
    signed_in: OpenPage, client: Client
) -> None:
    page = signed_in("/tokens")
    client.http.post("/api/users", json={"name": "Nora Live"}).raise_for_status()
    expect(page.get_by_text("Nora Live").first).to_be_visible()
    page.get_by_role("link", name="Schedules").click()
    expect(page.get_by_role("heading", name="Schedules")).to_be_visible()
    daily = {"type": "message", "message": "Water the plants", "cron": "0 7 * * *", "sessionId": "agent:main:main"}
    client.http.post("/api/schedules", json=daily).raise_for_status()
    expect(page.get_by_text("Water the plants").first).to_be_visible()
