"""Which files a caller may open: those of its session, of a task's thread, of runs it sees, and of its workspace."""

from collections.abc import Iterable
from mimetypes import guess_type
from typing import Literal

import msgspec

from carrel.journal import Entry
from carrel.kernel import Shape
from carrel.kernel.limits import FILES_LISTED_MAX
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.records import ArtifactHead, artifact_heads, attachment_heads
from carrel.sessions import lane_of, open_session_of
from carrel.storage import Tx
from carrel.tools.files.store import messages_with_files, thread_with_files
from carrel.tools.model import Caller
from carrel.visibility import tasks_seen, visible_entries
from carrel.work import readable_task
from carrel.workspaces import PlacedFiles

Source = Literal["message", "thread", "artifact", "workspace"]
ANY_TYPE = "application/octet-stream"
# Media type of a part if its agent gave none.
_TYPES = {"text": "text/plain", "data": "application/json", "url": "text/uri-list"}
_placed = msgspec.json.Decoder(PlacedFiles).decode


class ListedFile(Shape, frozen=True, kw_only=True):
    """A file that can be opened by its id, and where it comes from."""

    id: str
    name: str
    mime_type: str
    size_bytes: int
    source: Source = msgspec.field(name="from")


def list_files(tx: Tx, caller: Caller, task_id: str | None = None) -> list[ListedFile]:
    """Return the files of a task that the caller may read; without one, those of its session and of its own task."""
    if task_id is not None:
        task, _ = readable_task(tx, caller.access, task_id)
        return [*_of_thread(tx, caller, task.id), *_artifacts(tx, caller, RunFilter(task_id=task.id))]
    own = _own_task(tx, caller)
    found = [
        *_of_session(tx, caller),
        *([] if own is None else [*_of_thread(tx, caller, own), *_artifacts(tx, caller, RunFilter(task_id=own))]),
        *_artifacts(tx, caller, RunFilter(key=str(caller.key))),
        *_in_workspace(placed_for(tx, caller)),
    ]
    return list({file.id: file for file in found}.values())


def placed_for(tx: Tx, caller: Caller) -> PlacedFiles | None:
    """Return the files that lie in the workspace for the caller's own session."""
    lane = lane_of(tx, caller.access, caller.key)
    return None if lane is None or lane.files is None else _placed(lane.files)


def path_of(placed: PlacedFiles, name: str) -> str:
    """Return the path of a placed file in its workspace, which is its id."""
    return f"{placed.receipt.rel_dir}/{name}"


def type_of(name: str) -> str:
    """Return the media type that the name of a file suggests."""
    return guess_type(name)[0] or ANY_TYPE


def _own_task(tx: Tx, caller: Caller) -> str | None:
    own = caller.key.task_id or (None if caller.run is None else caller.run.task_id)
    return own if own is not None and tasks_seen(tx, caller.access, [own]) else None


def _of_session(tx: Tx, caller: Caller) -> list[ListedFile]:
    session = caller.session or open_session_of(tx, caller.access, str(caller.key))
    entries = [] if session is None else messages_with_files(tx, caller.access, session.id)
    return _attached(tx, caller, visible_entries(tx, caller.own_access, entries), "message")


def _of_thread(tx: Tx, caller: Caller, task_id: str) -> list[ListedFile]:
    return _attached(tx, caller, thread_with_files(tx, caller.access, task_id), "thread")


def _attached(tx: Tx, caller: Caller, entries: Iterable[Entry], source: Source) -> list[ListedFile]:
    ids = tuple(name for entry in entries for name in entry.attachment_ids)[:FILES_LISTED_MAX]
    return [ListedFile.of(head, source=source) for head in attachment_heads(tx, caller.access, ids)]


def _artifacts(tx: Tx, caller: Caller, wanted: RunFilter) -> list[ListedFile]:
    """Return artifact parts of runs that the caller may see; texts appended to one another make one file."""
    runs = runs_newest_first(tx, caller.own_access, wanted, before=None, limit=FILES_LISTED_MAX)
    heads = artifact_heads(tx, caller.access, [run.id for run in runs], limit=FILES_LISTED_MAX)
    found: dict[str, ListedFile] = {}
    begun: dict[tuple[str, str], str] = {}
    for head in heads:
        artifact, file = (head.run_id, head.artifact_id), _artifact(head)
        if head.kind == "text" and artifact in begun:
            first = found[begun[artifact]]
            found[first.id] = msgspec.structs.replace(first, size_bytes=first.size_bytes + file.size_bytes)
            continue
        found[file.id] = file
        if head.kind == "text":
            begun[artifact] = file.id
        else:
            begun.pop(artifact, None)
    return list(found.values())


def _artifact(head: ArtifactHead) -> ListedFile:
    name = head.filename or head.name or head.artifact_id
    is_bytes = head.kind == "bytes"
    return ListedFile(
        id=f"{head.run_id}.{head.seq}",
        name=name,
        mime_type=head.media_type or (type_of(name) if is_bytes else _TYPES[head.kind]),
        size_bytes=head.stored_bytes * 3 // 4 if is_bytes else head.stored_bytes,
        source="artifact",
    )


def _in_workspace(placed: PlacedFiles | None) -> list[ListedFile]:
    return [] if placed is None else [
        ListedFile(
            id=path_of(placed, file.name), name=file.name, mime_type=type_of(file.name), size_bytes=file.bytes,
            source="workspace",
        )
        for file in placed.receipt.files
    ]  # fmt: skip
