"""What agents and people write: shown as they mean it, without markup, foreign loads or deceptive links."""

from playwright.sync_api import expect

from tests.browser.talking import Client, OpenPage, ScriptedModel
from tests.browser.test_chat import address, row, transcript
from tests.scripted_gateway import text

HOSTILE = [
    "[run](javascript:document.title='taken')",
    "[run](JaVaScRiPt:document.title='taken')",
    "[data](data:text/html,<script>document.title='taken'</script>)",
    "[file](file:///etc/passwd)",
    "[ours](/api/auth/session)",
    "![picture](javascript:document.title='taken')",
    "<a href=\"javascript:document.title='taken'\">run</a>",
    "<img src=x onerror=\"document.title='taken'\">",
    "<svg onload=\"document.title='taken'\">",
    "<iframe srcdoc=\"<script>parent.document.title='taken'</script>\"></iframe>",
    "<style>body { display: none }</style>",
    "[reference]: javascript:document.title='taken'\n\n[reference]",
]


def test_only_addresses_of_the_web_and_of_mail_become_links(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("<b onclick=\"document.title='taken'\">Name</b>")
    good = "[web](https://foreign.test/a) [mail](mailto:ann@foreign.test) https://plain.test/b"
    model.on("Try everything", text("\n\n".join([*HOSTILE, good, "The end."])))
    client.ended(client.say(key, "Try everything"))
    page = signed_in(address(key))
    said = row(page, "The end.")
    expect(said).to_have_count(1)
    links = said.get_by_role("link")
    expect(links).to_have_text(["web (foreign.test)", "mail", "https://plain.test/b (plain.test)"])
    assert transcript(page).locator("img, svg[onload], iframe, style, script, a[href^=javascript]").count() == 0
    expect(said).to_contain_text("[run](javascript:document.title='taken')")
    assert "taken" not in page.title().removeprefix("<b onclick=\"document.title='taken'\">")


def test_lists_tables_and_quotes_are_shown_as_they_are_meant(
    signed_in: OpenPage, client: Client, model: ScriptedModel
) -> None:
    key = client.open_lane("Neat")
    model.on("Show", text("> quoted\n\n- [x] done\n- [ ] open\n\n|a|b|\n|-|-:|\n|1|2|\n\n~~gone~~ `code`\nnext line"))
    client.ended(client.say(key, "Show"))
    page = signed_in(address(key))
    said = row(page, "quoted")
    expect(said.get_by_role("blockquote")).to_have_text("quoted")
    expect(said.get_by_role("checkbox", name="done", exact=True)).to_be_checked()
    expect(said.get_by_role("cell")).to_have_text(["1", "2"])
    expect(said.get_by_role("deletion")).to_have_text("gone")
    expect(said).to_contain_text("code\nnext line", use_inner_text=True)
