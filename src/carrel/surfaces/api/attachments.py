"""Attachments: files sent ahead of the message of a thread, or the entry of the log, that they belong to."""

from urllib.parse import quote

from starlette.responses import Response

from carrel.board import read_file
from carrel.kernel import PEOPLE, Access, NewAttachment
from carrel.records import FileShape, keep_file
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.work import actor_of


@endpoint("POST", "/api/attachments", "attachment", who=PEOPLE, file="file", creates=True)
def upload_attachment(call: Call[NewAttachment, NoQuery], tx: Tx, access: Access) -> FileShape:
    """Send a file, to be named in the message or entry that it belongs to; without one it is deleted after a day."""
    return keep_file(tx, access, call.body, actor_of(tx, access).party_id)


@endpoint("GET", "/api/attachments/{id}", answers={200: bytes}, media="*/*")
def download_attachment(call: Call[None, NoQuery], tx: LongTx, access: Access) -> Response:
    """Get the content of a file, for download only."""
    file = read_file(tx, access, call.path("id"))
    return download(file.name, file.content, file.mime_type)


def download(name: str, content: bytes, media_type: str) -> Response:
    """Return a file for download only."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, headers=headers, media_type=media_type)
