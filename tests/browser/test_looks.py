"""Layout and accessibility: narrow windows, light and dark, keyboard only."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.measures import FAINT_TEXT, FOCUS, NAMELESS_CONTROLS
from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.harness.process import RunningServer
from tests.requirements.mark import requirement
from tests.scripted_gateway import calls, http_error, text
from tests.surfaces.test_unsupported import ABSENT

NARROW = {"width": 390, "height": 844}
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 4


@pytest.fixture
def full_lane(client: Client, model: ScriptedModel) -> str:
    key = client.open_lane("The full lane")
    client.http.patch("/api/agents/main", json={"tools": {"ask": ["artifact_*"]}}).raise_for_status()
    marked = f"# {LONG}\n> {LONG}\n\n- [{LONG}](https://{LONG[:50]}.test/) `{LONG}`\n\n|a|b|\n|-|-|\n|{LONG}|{LONG}|\n"
    model.on(
        "Say much",
        calls(("session_status", {}), ("a_tool_with_a_name_that_is_longer_than_most", {})),
        text(f"{LONG}\n```\n{LONG}\n```\n{LONG}\n{marked}"),
    )
    model.on("Add now", calls(("artifact_add", {"name": "Long", "text": LONG})))
    model.on("Fail now", http_error(400, LONG))
    model.on("Ask now", calls(("request_input", {"question": LONG})))
    for line in ("Say much", "Fail now", "Ask now", "Add now"):
        client.ended(client.post("/api/chat", {"text": line, "sessionKey": key, "answersRunId": None})["runId"])
    client.ended(client.say(client.open_lane(LONG[:60]), "Hello"))
    return key


def go(page: Page, path: str) -> None:
    """Open a path and wait until its content is shown."""
    page.goto(path)
    if path == "/":
        listed = page.get_by_role("region", name="Needs you").get_by_role("listitem")
        expect(listed.filter(has_text="Fail now").first).to_be_visible()
        expect(listed.get_by_role("button", name="Approve").first).to_be_visible()
    else:
        expect(page.get_by_role("log", name="Transcript")).to_contain_text(LONG)
        expect(page.get_by_role("textbox", name="Your answer")).to_be_visible()
        expect(page.get_by_role("button", name="Approve").first).to_be_visible()


def pages_of(full_lane: str) -> list[str]:
    return ["/", f"/chat/{full_lane.replace(':', '%3A')}"]


@requirement("P.absent")
def test_pages_full_of_long_words_fit_a_narrow_window_and_mention_nothing_that_is_not_offered(
    signed_in: OpenPage, full_lane: str
) -> None:
    page = signed_in(viewport=NARROW)
    for path in pages_of(full_lane):
        go(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], path
        ends = [
            *page.get_by_role("form", name="Write").get_by_role("button").all(),
            *page.locator("[data-outcome]").all(),
        ]
        for end in ends:
            right = end.evaluate("(shown) => shown.getBoundingClientRect().right")
            assert right <= NARROW["width"], f"{end} of {path}"
        assert page.evaluate(NAMELESS_CONTROLS) == []
        assert page.evaluate(FAINT_TEXT) == []
        shown = page.evaluate("document.documentElement.outerHTML")
        assert "The full lane" in shown
        assert ABSENT.findall(shown) == []


def test_light_and_dark_follow_the_system(signed_in: OpenPage) -> None:
    page = signed_in(color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) != light


def test_nothing_moves_with_reduced_motion(signed_in: OpenPage, client: Client, model: ScriptedModel) -> None:
    gate = model.hold("Stay busy")
    client.say(client.open_lane("Still life"), "Stay busy")
    page = signed_in(reduced_motion="reduce")
    expect(page.get_by_role("img", name="1 running")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(reduced_motion="no-preference")
    page.wait_for_function("document.getAnimations().length > 0")
    gate.open()


def test_everything_works_by_keyboard_alone(new_page: OpenPage, server: RunningServer) -> None:
    page = new_page()
    page.goto("/")
    expect(page.get_by_role("textbox", name="Token")).to_be_focused()
    page.keyboard.insert_text(server.token)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Home")).to_be_visible()

    tab_to(page, "Chat")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.insert_text("Hello from the keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Noted.")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with that text has the focus; every stop must have a visible focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        assert stop["seen"], stop
        if stop["text"] == name:
            return
    raise AssertionError(f"Tab never reached {name}")
