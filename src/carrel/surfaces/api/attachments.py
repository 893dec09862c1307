"""Attachments: files sent ahead of the message of a thread, or the entry of the log, that they belong to."""

from urllib.parse import quote

from starlette.responses import Response

from carrel.board import read_file
from carrel.kernel import PEOPLE, Access, NewAttachment
from carrel.records import keep_file
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, Out, endpoint
from carrel.surfaces.api.shapes import Attached, attached
from carrel.work import actor_of


class OneAttachment(Out, frozen=True, kw_only=True):
    """One attachment."""

    attachment: Attached


@endpoint("POST", "/api/attachments", answers={201: OneAttachment}, who=PEOPLE, file="file", creates=True)
async def upload_attachment(call: Call[NewAttachment, NoQuery]) -> OneAttachment:
    """Send a file, to be named in the message or entry that it belongs to; without one it is deleted after a day."""

    def work(tx: Tx, access: Access) -> OneAttachment:
        kept = keep_file(tx, access, call.body, actor_of(tx, access).party_id)
        return call.promise(tx, OneAttachment(attachment=attached(kept)))

    return await call.write(work)


@endpoint("GET", "/api/attachments/{id}", answers={200: bytes}, media="*/*")
async def download_attachment(call: Call[None, NoQuery]) -> Response:
    """Get the content of a file, for download only."""

    def work(tx: LongTx, access: Access) -> Response:
        file = read_file(tx, access, call.path("id"))
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
        return Response(file.content, headers=headers, media_type=file.mime_type)

    return await call.long_read(work)
