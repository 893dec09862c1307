"""Schedules, spaces, people and tokens."""

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage


def test_a_schedule_is_made_with_its_next_times_shown_paused_and_run(signed_in: OpenPage, client: Client) -> None:
    key = client.open_lane("Garden")
    page = signed_in("/schedules")
    page.keyboard.press("n")
    page.get_by_role("combobox", name="In session").select_option(key)
    page.get_by_role("textbox", name="Message").fill("Water the roses.")
    cron = page.get_by_role("textbox", name="When, as a cron expression")
    cron.fill("61 9 * * *")
    expect(page.get_by_role("dialog")).to_contain_text("61 is not a minute: 0 to 59.")
    cron.fill("0 9 * * 1-5")
    expect(page.get_by_role("dialog")).to_contain_text("Monday to Friday at 09:00")
    expect(page.get_by_role("region", name="Next times").get_by_role("listitem")).to_have_count(5)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("complementary", name="Water the roses.")).to_be_visible()
    page.keyboard.press("Escape")
    row = page.get_by_role("table", name="Schedules").get_by_role("row").filter(has_text="Water the roses.")
    page.get_by_role("button", name="Pause: Water the roses.").click()
    expect(row).to_contain_text("Paused")
    page.get_by_role("button", name="Run now: Water the roses.").click()
    expect(row).to_contain_text("Completed")
    schedule = client.http.get("/api/schedules").json()["schedules"][0]
    assert (schedule["cron"], schedule["enabled"], schedule["executionCount"]) == ("0 9 * * 1-5", False, 1)


def test_a_click_in_the_matrix_changes_what_a_space_sees_and_others_see_it_live(
    signed_in: OpenPage, client: Client
) -> None:
    client.post("/api/spaces", {"name": "Attic"})
    page, other = signed_in("/spaces"), signed_in("/spaces")
    cell = page.get_by_role("switch", name="Default sees Attic")
    expect(cell).to_be_checked()
    cell.focus()
    page.keyboard.press("Space")
    expect(cell).not_to_be_checked()
    expect(other.get_by_role("switch", name="Default sees Attic")).not_to_be_checked()
    spaces = {space["id"]: space for space in client.http.get("/api/spaces").json()["spaces"]}
    assert spaces["space-default"]["connectivity"]["space-attic"] is False


def test_a_change_that_the_server_refuses_is_taken_back_with_its_sentence(signed_in: OpenPage) -> None:
    page = signed_in("/spaces")
    refusal = {"error": {"code": "forbidden", "message": "Not today."}, "requestId": "req_test"}
    page.route("**/connectivity", lambda route: route.fulfill(status=500, json=refusal))
    page.get_by_role("button", name="New space").click()
    page.get_by_role("textbox", name="Name").fill("Cellar")
    page.get_by_role("button", name="Create").click()
    page.keyboard.press("Escape")
    cell = page.get_by_role("switch", name="Default sees Cellar")
    cell.click()
    expect(page.get_by_role("alert")).to_contain_text("Not today.")
    expect(page.get_by_role("alert")).to_contain_text("req_test")
    expect(cell).to_be_checked()


def test_a_token_is_shown_once_opens_the_door_and_is_revoked(signed_in: OpenPage, client: Client) -> None:
    page = signed_in("/tokens")
    page.get_by_role("button", name="New person").click()
    page.get_by_role("textbox", name="Name").fill("Ann")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("table", name="People")).to_contain_text("Ann")
    page.get_by_role("button", name="New token").click()
    page.get_by_role("textbox", name="Name").fill("Ann's laptop")
    page.get_by_role("combobox", name="Person").select_option(label="Ann")
    page.get_by_role("button", name="Create").click()
    secret = page.get_by_label("Secret").inner_text()
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.http.get("/api/auth/me", headers=headers).json()["actor"]["name"] == "Ann"
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("table", name="Tokens")).to_contain_text("Ann's laptop")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke Ann's laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("table", name="Tokens")).not_to_contain_text("Ann's laptop")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert client.http.get("/api/auth/me", headers=headers).status_code == 401
