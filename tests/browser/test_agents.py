"""Agents: who they are, what they are told, and how they are changed."""

import re

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel


def test_an_agent_is_created_with_validation_while_typing_and_edited_with_the_keyboard(
    signed_in: OpenPage, client: Client
) -> None:
    page = signed_in("/agents")
    page.keyboard.press("n")
    create = page.get_by_role("button", name="Create")
    page.get_by_role("textbox", name="Id").fill("Not Valid")
    expect(page.get_by_role("dialog")).to_contain_text("Lower-case letters")
    expect(create).to_be_disabled()
    page.get_by_role("textbox", name="Id").fill("main")
    expect(page.get_by_role("dialog")).to_contain_text("Another agent has this name.")
    page.get_by_role("textbox", name="Id").fill("clerk")
    page.get_by_role("textbox", name="Name", exact=True).fill("<i>Clerk</i>")
    create.click()
    peek = page.get_by_role("complementary", name="<i>Clerk</i>")
    expect(peek).to_be_visible()
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Agents it may start").fill("nobody")
    expect(page.get_by_role("dialog")).to_contain_text("There is no agent nobody.")
    page.get_by_role("textbox", name="Agents it may start").fill("main")
    page.get_by_role("combobox", name="create tasks").select_option("No")
    page.get_by_role("combobox", name="Sandbox").select_option("On")
    page.get_by_role("checkbox", name="Every space").uncheck()
    page.get_by_role("checkbox", name="Default").check()
    page.get_by_role("textbox", name="Own instructions").fill("Write short letters.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    saved = client.http.get("/api/agents/clerk").json()["agent"]
    assert (saved["instructionsExtra"], saved["sandbox"]) == ("Write short letters.", "on")
    assert (saved["spaceIds"], saved["subagents"]["allowAgents"]) == (["space-default"], ["main"])
    assert (saved["behaviorFlags"]["canCreateTasks"], saved["behaviorFlags"]["canMarkDone"]) == (False, None)

    peek.get_by_role("button", name="Prompt").click()
    expect(peek.locator("pre")).to_contain_text("Write short letters.")
    peek.get_by_role("button", name="Task", exact=True).click()
    expect(peek.locator("pre")).to_contain_text("[title of the task]")
    page.reload()
    expect(page.get_by_role("complementary").locator("pre")).to_contain_text("[title of the task]")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)


def test_what_an_agent_does_and_whether_it_is_enabled_change_without_a_reload(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    page = signed_in("/agents")
    row = page.get_by_role("table", name="Agents").get_by_role("row").filter(has_text=re.compile("^Main"))
    expect(row).to_contain_text("Idle")
    gate = model.hold("Count the spoons")
    run = client.say(client.open_lane("Kitchen"), "Count the spoons")
    expect(row).to_contain_text("Busy")
    expect(row).to_contain_text("Count the spoons")
    gate.open()
    client.ended(run)
    expect(row).to_contain_text("Idle")
    client.post("/api/agents", {"id": "porter", "name": "Porter"})
    porter = page.get_by_role("row").filter(has_text="Porter")
    porter.click()
    page.get_by_role("complementary").get_by_role("button", name="Disable").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(porter).to_contain_text("Disabled")
    client.http.patch("/api/agents/porter", json={"enabled": True}).raise_for_status()
    expect(porter).to_contain_text("Idle")
