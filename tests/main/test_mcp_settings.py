"""Servers in the settings: their fields, their defaults, and what cannot work together."""

import pytest

from carrel.kernel.settings import McpServerSettings
from tests.main.test_settings import load_file, problems_of
from tests.requirements.mark import requirement


@requirement("P.mcp.settings")
def test_a_server_has_the_fields_and_the_defaults_that_are_documented() -> None:
    servers = load_file("""
        [mcp.files]
        command = "npx"
        args = ["-y", "server"]
        env = ["TOKEN"]
        allow = ["read_*"]
        deny = ["read_all"]
        timeout_seconds = 5
        accounts = ["*"]

        [mcp.tracker]
        url = "https://tracker.example/mcp"
        headers = {Authorization = "TRACKER_AUTHORIZATION", X-Team = "TEAM"}
        """).settings.mcp
    assert servers["files"] == McpServerSettings(
        command="npx", args=("-y", "server"), env=("TOKEN",), allow=("read_*",), deny=("read_all",),
        timeout_seconds=5, accounts=("*",),
    )  # fmt: skip
    tracker = servers["tracker"]
    assert (tracker.url, tracker.headers) == (
        "https://tracker.example/mcp",
        {"Authorization": "TRACKER_AUTHORIZATION", "X-Team": "TEAM"},
    )
    assert (tracker.command, tracker.args, tracker.env) == ("", (), ())
    assert (tracker.allow, tracker.deny, tracker.timeout_seconds, tracker.accounts) == (("*",), (), 60, ("default",))


@requirement("P.mcp.settings")
def test_headers_may_be_a_section_and_come_from_the_environment_as_json() -> None:
    section = load_file('[mcp.a]\nurl = "http://127.0.0.1/mcp"\n[mcp.a.headers]\nX-Key = "KEY"\n').settings
    assert section.mcp["a"].headers == {"X-Key": "KEY"}
    variables = {"CARREL_MCP__A__URL": "http://127.0.0.1/mcp", "CARREL_MCP__A__HEADERS": '{"X-Key": "KEY"}'}
    assert load_file("", **variables).settings.mcp["a"].headers == {"X-Key": "KEY"}


@requirement("P.mcp.settings")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[mcp.a]\ndeny = ["x"]', "mcp.a: set either mcp.a.command or mcp.a.url."),
        ('[mcp.a]\ncommand = "x"\nurl = "http://127.0.0.1"', "mcp.a: set either mcp.a.command or mcp.a.url."),
        ('[mcp.a]\nurl = "http://127.0.0.1"\nargs = ["x"]', "mcp.a.args: only a server with a command uses it."),
        ('[mcp.a]\ncommand = "x"\nheaders = {K = "V"}', "mcp.a.headers: only a server with a url uses them."),
        ('[mcp.a]\ncommand = "x"\nenv = ["KEY=secret"]', "mcp.a.env: must have names of environment variables"),
        ('[mcp.a]\nurl = "http://127.0.0.1"\nheaders = {K = "Bearer x"}', "mcp.a.headers: must be headers with"),
        ('[mcp.a]\nurl = "http://127.0.0.1"\nheaders = ["K=V"]', "must be a table of strings"),
        ('[mcp.a]\ncommand = "x"\ntimeout_seconds = 0', "must be a whole number from 1 to 3,600"),
        ('[mcp.9a]\ncommand = "x"', "begin with a letter"),
        ('[mcp.a__b]\ncommand = "x"', "single - or _ between them"),
        (f'[mcp.{"a" * 25}]\ncommand = "x"', "must have 1 to 24 lower-case letters"),
        ('[mcp.a]\ncommand = "x"\ntimeout = 5', "unknown setting; did you mean mcp.a.timeout_seconds?"),
    ],
)
def test_what_cannot_work_is_told(text: str, says: str) -> None:
    (problem,) = problems_of(text)
    assert says in problem


@requirement("P.mcp.shadow")
def test_two_servers_whose_tools_could_have_one_name_cannot_stand_side_by_side() -> None:
    # The tool `hub_list` of one and `list` of the other.
    text = '[mcp.git]\ncommand = "x"\n[mcp.git_hub]\ncommand = "x"\n[mcp.gitter]\ncommand = "x"\n'
    (problem,) = problems_of(text)
    assert problem.startswith("mcp.git_hub: names of tools begin with the name of their server and _")
    assert problem.endswith("use another name, such as git-hub.")
    assert set(load_file(text.replace("git_hub", "git-hub")).settings.mcp) == {"git", "git-hub", "gitter"}
