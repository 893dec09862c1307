"""Work with the keyboard alone: from the idea to the task that is done."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.measures import FOCUS
from tests.browser.talking import OpenPage
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text

STOPS_MAX = 60


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until what has this name has the focus, which must be visible at every stop."""
    for _ in range(STOPS_MAX):
        press(page, key)
        stop = page.evaluate(FOCUS)
        assert stop["seen"], stop
        if stop["name"] == name:
            return
    raise AssertionError(f"{key} never reached {name}")


def asking() -> Callable[[Request], Answer]:
    """Return a model that asks one question about its task, then hands the task in for review and says so."""
    steps: list[tuple[str, dict[str, str]]] = [
        ("request_input", {"question": "Which paper?"}),
        ("task_status", {"status": "review"}),
    ]

    def answer(request: Request) -> Answer:
        task = request.json.get("metadata", {}).get("taskId")
        if task is None or not steps:
            return text("Printed.")
        tool, words = steps.pop(0)
        return calls((tool, words if tool == "request_input" else words | {"taskId": task}))

    return answer


@requirement("P.ui.keys")
def test_a_task_is_made_assigned_answered_reviewed_and_closed_without_a_mouse(
    signed_in: OpenPage, gateway: ScriptedGateway
) -> None:
    gateway.rule = asking()
    page = signed_in()
    press(page, "c")
    expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()
    page.keyboard.insert_text("task")
    press(page, "Enter")
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.insert_text("Print the poster")
    press(page, "Enter")
    peek = page.get_by_role("complementary", name="Print the poster")
    expect(peek).to_be_visible()

    tab_to(page, "Assign somebody")
    press(page, "Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    press(page, "Enter")
    asked = page.get_by_role("region", name="Question")
    expect(asked).to_contain_text("Which paper?")
    tab_to(page, "Your answer", "Shift+Tab")
    page.keyboard.insert_text("Plain paper")
    press(page, "Enter")
    expect(asked).to_have_count(0)
    expect(page.get_by_role("log", name="Thread")).to_contain_text("Printed.")

    press(page, "Escape")
    expect(peek).to_have_count(0)
    review = page.get_by_role("region", name="Review", exact=True)
    expect(review.get_by_role("button", name="Print the poster", exact=True)).to_be_visible()
    press(page, "j")
    expect(review.get_by_role("button", name="Print the poster", exact=True)).to_be_focused()
    press(page, "Enter")
    expect(peek).to_be_visible()
    tab_to(page, "Mark done")
    press(page, "Enter")
    expect(peek.locator("[data-state=done]").first).to_be_visible()
    press(page, "Escape")
    closed = page.get_by_role("region", name="Done", exact=True)
    expect(closed.get_by_role("button", name="Print the poster", exact=True)).to_be_visible()
