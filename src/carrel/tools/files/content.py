"""Opening one file by its id or its name, wherever it is kept."""

import asyncio

from msgspec import Struct

from carrel.board import found_entry
from carrel.kernel import Code, Refusal, clip, invalid
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.monitoring import visible_run
from carrel.records import artifact_files, artifacts_of, attachments_by_id, run_of_artifact, upload_of
from carrel.storage import Database, Tx
from carrel.tools.files.inventory import ListedFile, list_files, path_of, placed_for, type_of
from carrel.tools.model import Caller
from carrel.work import readable_task
from carrel.workspaces import PlacedFiles, read_placed


class OpenedFile(Struct, frozen=True):
    """A file with its content."""

    name: str
    mime_type: str
    content: bytes


class _InWorkspace(Struct, frozen=True):
    """A file that is yet to be read from disk."""

    placed: PlacedFiles
    name: str


async def open_file(db: Database, caller: Caller, wanted: str, task_id: str | None) -> OpenedFile:
    """Return a file that the caller or, if given, the task has, by its id or by a name that only one of them has."""
    found = await db.long_read(lambda tx: _find(tx, caller, wanted, task_id))
    if isinstance(found, OpenedFile):
        return found
    content = await asyncio.to_thread(read_placed, found.placed, found.name)
    if content is None:
        raise _unknown(wanted)
    return OpenedFile(found.name, type_of(found.name), content)


def _find(tx: Tx, caller: Caller, wanted: str, task_id: str | None) -> OpenedFile | _InWorkspace:
    files = list_files(tx, caller, task_id)
    named = [file for file in files if file.id == wanted] or [file for file in files if file.name == wanted]
    if len(named) > 1:
        ids = ", ".join(file.id for file in named)
        raise invalid("id", f"{len(named)} files have the name '{clip(wanted, NAME_CHARS_MAX)}'; give an id: {ids}.")
    try:
        found = _listed(tx, caller, named[0]) if named else _elsewhere(tx, caller, wanted)
    except Refusal as refusal:
        raise _unknown(wanted) from refusal
    if found is None:
        raise _unknown(wanted)
    return found


def _listed(tx: Tx, caller: Caller, file: ListedFile) -> OpenedFile | _InWorkspace | None:
    if file.source == "artifact":
        found = _artifact(tx, caller, file.id)
        return None if found is None else OpenedFile(file.name, file.mime_type, found.content)
    if file.source == "workspace":
        placed = placed_for(tx, caller)
        return None if placed is None or path_of(placed, file.name) != file.id else _InWorkspace(placed, file.name)
    return _attachment(tx, caller, file.id)


def _elsewhere(tx: Tx, caller: Caller, file_id: str) -> OpenedFile | None:
    """Return a file of another task that the caller may read, of an entry it may find, or of a run it may see."""
    upload = upload_of(tx, caller.access, file_id)
    if upload is None:
        visible_run(tx, caller.own_access, run_of_artifact(file_id))
        return _artifact(tx, caller, file_id)
    if upload.entry_id is not None:
        found_entry(tx, caller.own_access, upload.entry_id)
    elif upload.task_id is not None:
        readable_task(tx, caller.access, upload.task_id)
    else:
        return None
    return _attachment(tx, caller, file_id)


def _attachment(tx: Tx, caller: Caller, file_id: str) -> OpenedFile | None:
    kept = attachments_by_id(tx, caller.access, (file_id,))
    return OpenedFile(kept[0].name, kept[0].mime_type, kept[0].content) if kept else None


def _artifact(tx: Tx, caller: Caller, file_id: str) -> OpenedFile | None:
    run_id = run_of_artifact(file_id)
    files = artifact_files(run_id, artifacts_of(tx, caller.access, run_id))
    file = next((one for one in files if one.id == file_id), None)
    if file is None:
        return None
    return OpenedFile(file.filename or file.name or file.id, file.safe_media_type, file.content)


def _unknown(wanted: str) -> Refusal:
    message = f"There is no file '{clip(wanted, NAME_CHARS_MAX)}' that you may read; file_list lists those you may."
    return Refusal(Code.NOT_FOUND, message)
