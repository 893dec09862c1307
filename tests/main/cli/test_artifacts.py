"""What `carrel artifacts` requests from the server and prints."""

from pathlib import Path
from typing import Any

from tests.bridge.tiny_server import Raw, TinyServer
from tests.main.cli.conftest import Carrel


def artifact(**changes: Any) -> dict[str, Any]:
    """An artifact as the API shows it."""
    known = {"id": "run_1.7", "runId": "run_1", "name": "Story", "kind": "text", "filename": None, "url": None}
    return known | {"bytes": 4, "addedAt": "2999-01-01T00:00:00Z"} | changes


def serve(tiny: TinyServer, **changes: Any) -> None:
    tiny.answers("GET", "/api/runs/run_1/artifacts", {"artifacts": [artifact(**changes)]})
    tiny.answers("GET", "/api/artifacts/run_1.7/content", "Once")


def test_artifacts_of_a_run_are_listed(at: Carrel, tiny: TinyServer) -> None:
    serve(tiny)
    assert at("artifacts", "list", "run_1").out == "run_1.7\ttext\t4\t0s\tStory\n"


def test_a_text_is_shown(at: Carrel, tiny: TinyServer) -> None:
    serve(tiny)
    assert "Once" in at("artifacts", "show", "run_1.7").out


def test_a_file_is_written_under_its_own_name_into_this_folder(
    at: Carrel, tiny: TinyServer, clean_machine: Path
) -> None:
    serve(tiny, kind="file", filename="../../story.txt")
    assert at("artifacts", "get", "run_1.7").out == "story.txt\n"
    assert "Once" in (clean_machine / "story.txt").read_text()


def test_a_file_that_is_there_is_not_overwritten(at: Carrel, tiny: TinyServer, clean_machine: Path) -> None:
    serve(tiny, filename="story.txt")
    (clean_machine / "story.txt").write_text("mine")
    ended = at("artifacts", "get", "run_1.7")
    assert (ended.code, "exists already" in ended.err) == (1, True)
    assert (clean_machine / "story.txt").read_text() == "mine"


def test_an_unknown_artifact_is_told_as_such(at: Carrel, tiny: TinyServer) -> None:
    serve(tiny)
    assert "There is no artifact 'run_1.8'" in at("artifacts", "get", "run_1.8").err


def test_an_artifact_on_the_terminal_cannot_act_on_it(on_terminal: Carrel, tiny: TinyServer) -> None:
    serve(tiny)
    tiny.answers("GET", "/api/artifacts/run_1.7/content", Raw("\x1b]0;evil\x07 \u202egpj".encode()))
    shown = on_terminal("artifacts", "get", "run_1.7", "--output", "-").out
    assert shown == "\ufffd]0;evil\ufffd \ufffdgpj\n"
