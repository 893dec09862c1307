"""What a tool returns: images, files, and why it failed."""

from tests.connectors.plain import plain
from tests.connectors.test_connectors import call, connected, offered
from tests.requirements.mark import requirement


@requirement("P.mcp.results")
async def test_images_and_files_of_a_result_are_files_and_damaged_ones_are_named() -> None:
    async with connected(plain=plain()) as connectors:
        result = await connectors.call("default", (await offered(connectors))["picture"], {})
        assert [(file.name, file.mime_type) for file in result.files] == [
            ("picture-2", "image/png"),
            ("table.csv", "text/csv"),
        ]
        assert result.files[1].content == b"a,b"
        assert result.value == {"text": "Here it is.\n\n[the file picture-3 was left out: it is damaged]"}


@requirement("P.mcp.results")
async def test_a_tool_that_fails_says_why_to_the_model() -> None:
    async with connected(plain=plain()) as connectors:
        value = await call(connectors, "fail")
        assert value == {"ok": False, "error": {"code": "tool_failed", "message": "it does not work"}}
