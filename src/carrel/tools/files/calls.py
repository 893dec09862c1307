"""`file_list` and `file_read`: see what files there are, and read one part by part."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from carrel.kernel import NewAttachment, Shape, limits, redact
from carrel.records import text_of
from carrel.storage import Database, Tx
from carrel.tools.files.content import OpenedFile, open_file
from carrel.tools.files.inventory import ListedFile, list_files
from carrel.tools.files.pdf import PDF, PdfText, read_pdf
from carrel.tools.model import Caller, Params, Result, Shown, Tool, answer, give_read, read_before
from carrel.tools.tasks.reads import TaskId
from carrel.tools.tasks.shapes import first_that_fit

# The types that models take as files.
_SHOWN = ("image/png", "image/jpeg", "image/webp", "image/gif", PDF)
_NOT_TEXT = "This file is not text, so it cannot be read here."
_BESIDE_IT = "It is shown beside this result, where your model takes such files."
_BESIDE = f"This file is not text. {_BESIDE_IT}"
_MORE_PAGES = f"Only the first {limits.PDF_PAGES_MAX} pages can be read here."
_NO_TEXT = "This PDF has no text; its pages may be pictures."


class ListFiles(Params, frozen=True, kw_only=True):
    """The files of which task."""

    task_id: Annotated[TaskId, Meta(description="by default your own task, and what came with this session")] | None = (
        None
    )


class ReadFile(Params, frozen=True, kw_only=True):
    """Which file, and which part of its text; numbers out of range are clamped."""

    id: Annotated[str, Meta(min_length=1, description="id or unique name")]
    offset: Annotated[int, Meta(description="where to begin")] = 0
    limit: Annotated[int, Meta(description="how many characters, at most 20000")] = limits.FILE_READ_CHARS_MAX
    task_id: Annotated[TaskId, Meta(description="whose file it is, if not yours")] | None = None


FileList = answer("FileList", "Files, and where they come from.", files=list[ListedFile])


class FilePart(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a text, and where the next one begins; of what is not text, only what it is."""

    name: str
    mime_type: str
    size_bytes: int
    text: str | None = None
    next_offset: int | None = None
    note: str | None = None


def _file_list(tx: Tx, caller: Caller, params: ListFiles) -> Result:
    files: list[Any] = msgspec.to_builtins(list_files(tx, caller, params.task_id))
    return Result(value={"files": first_that_fit(files, limits.TOOL_RESULT_BYTES_MAX // 2)})


async def _file_read(db: Database, caller: Caller, params: ReadFile) -> Result:
    file = await open_file(db, caller, params.id, params.task_id)
    about = FilePart(name=file.name, mime_type=file.mime_type, size_bytes=len(file.content))
    part, files = await _part(file, about, params)
    return Result(value=msgspec.to_builtins(part), files=files)


async def _part(file: OpenedFile, about: FilePart, params: ReadFile) -> tuple[FilePart, tuple[NewAttachment, ...]]:
    """Return the part that is asked for, and the file itself if it is shown to the model beside the part."""
    if (text := text_of(file.content, file.mime_type)) is not None:
        return _text_part(about, text, params), ()
    note = _BESIDE
    if file.mime_type == PDF:
        pdf = await read_pdf(file.content, chars_max=max(0, params.offset) + limits.FILE_READ_CHARS_MAX)
        if pdf.text:
            return _pages(about, pdf, params), ()
        note = f"{pdf.error or _NO_TEXT} {_BESIDE_IT}"
    if file.mime_type not in _SHOWN or len(file.content) > limits.ATTACHMENT_BYTES_MAX:
        return structs.replace(about, note=_NOT_TEXT), ()
    shown = NewAttachment(name=file.name, mime_type=file.mime_type, content=file.content)
    return structs.replace(about, note=note), (shown,)


def _pages(about: FilePart, pdf: PdfText, params: ReadFile) -> FilePart:
    """Return part of a PDF's text; its end says what could not be read."""
    part = _text_part(about, pdf.text, params)
    is_end = part.next_offset is None
    return structs.replace(part, note=_MORE_PAGES if is_end and not pdf.has_all else pdf.error if is_end else None)


def _text_part(about: FilePart, text: str, params: ReadFile) -> FilePart:
    begin = max(0, params.offset)
    end = begin + max(1, min(params.limit, limits.FILE_READ_CHARS_MAX))
    # Characters may take several bytes each, and the whole result has a limit in bytes.
    while len(msgspec.json.encode(text[begin:end])) > limits.TOOL_RESULT_BYTES_MAX - limits.FILE_READ_CHARS_MAX:
        end = begin + (end - begin) * 3 // 4
    return structs.replace(about, text=redact(text[begin:end]), next_offset=end if end < len(text) else None)


FILE_TOOLS = (
    Tool("file_list", "list files",
         "List the files of this session and its task, also results of runs.",
         "read", ListFiles, _file_list, FileList, shown=Shown(without=("taskId",))),
    Tool("file_read", "read a file",
         "Read a file; a long one goes on at nextOffset.",
         "read", ReadFile, give_read, FilePart, prepare=read_before(_file_read),
         shown=Shown(without=("limit", "taskId"))),
)  # fmt: skip
