"""What `carrel note` requests from the server and prints."""

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel

NOTE = {"id": "ent_1", "topicId": "fence", "taskId": None, "content": "Ada prefers\nblue"}


def test_a_note_is_written_where_it_is_told_to(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/notes", {"log": NOTE}, status=201)
    assert at("note", "Ada prefers blue", "--topic", "fence", "--about", "ent_0").out == "ent_1\n"
    assert tiny.asked[0].body == {"content": "Ada prefers blue", "topicId": "fence", "relatedLogId": "ent_0"}


def test_without_a_text_notes_are_listed(at: Carrel, tiny: TinyServer) -> None:
    listed = {"logs": [NOTE | {"createdAt": "2999-01-01T00:00:00Z"}], "nextCursor": None}
    tiny.answers("GET", "/api/notes", listed)
    assert at("note", "--task", "paint").out == "ent_1\tfence\t\t0s\tAda prefers blue\n"
    assert tiny.asked[0].query == {"taskId": "paint", "limit": "50"}
