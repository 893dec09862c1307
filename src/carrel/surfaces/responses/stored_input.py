"""GET /v1/responses/{id}/input_items: the input of a request, from the stored entries of its run."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from carrel.journal import Entry, entries_of_run
from carrel.kernel import Access
from carrel.kernel.limits import NAME_CHARS_MAX, RESPONSE_PAGE_DEFAULT, RESPONSE_PAGE_MAX
from carrel.records import attachment_heads
from carrel.runs import Run, extras_of, is_sender_call, run_by_id
from carrel.storage import Tx
from carrel.surfaces.responses.errors import no_response, wrong
from carrel.surfaces.responses.input_items import links_text
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.store import Response

_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}


class Page(Struct, frozen=True, kw_only=True):
    """Which items to return: those behind `after`, newest first unless `order` is `asc`."""

    limit: Annotated[int, Meta(ge=1, le=RESPONSE_PAGE_MAX)] = RESPONSE_PAGE_DEFAULT
    order: Literal["asc", "desc"] = "desc"
    after: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | None = None


def list_input(tx: Tx, access: Access, response: Response, page: Page) -> Json:
    """Return a page of a response's input."""
    items = [_with_id(response, n, item) for n, item in enumerate(_input_of(tx, access, response))]
    if page.order == "desc":
        items.reverse()
    if page.after is not None:
        ids = [item["id"] for item in items]
        if page.after not in ids:
            raise wrong("after", "This response has no input item with that id.")
        items = items[ids.index(page.after) + 1 :]
    shown = items[: page.limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(items) > len(shown),
    }


def _with_id(response: Response, index: int, item: Json) -> Json:
    """Return an item with an id that no item of the output has."""
    named = f"{_PREFIXES[item['type']]}_{response.id.removeprefix('resp_')}_in{index}"
    return {"id": named, "status": "completed"} | item


def _input_of(tx: Tx, access: Access, response: Response) -> list[Json]:
    run = run_by_id(tx, access, response.run_id)
    if run is None:
        raise no_response()
    return _continuation(tx, access, run, response) if response.stretch else _beginning(tx, access, run)


def _beginning(tx: Tx, access: Access, run: Run) -> list[Json]:
    """Return the input that started a run."""
    extras = extras_of(tx, access, run.id)
    text = "" if run.text == links_text(extras.parts) else run.text
    message = _message(tx, access, text, run.attached(), extras.parts)
    return [*extras.before, message, *extras.after]


def _continuation(tx: Tx, access: Access, run: Run, response: Response) -> list[Json]:
    """Return the outputs and the message that continued a run: its last entries before those of the response."""
    items: list[Json] = []
    for entry in reversed([entry for entry in entries_of_run(tx, access, run.id) if entry.seq <= response.after_seq]):
        if entry.role == "user":
            items.append(_message(tx, access, entry.content, entry.attachment_ids))
        elif entry.role == "toolResult" and is_sender_call(entry):
            items.append(_output(entry))
        else:
            break
    return items[::-1]


def _message(
    tx: Tx, access: Access, text: str, file_ids: tuple[str, ...], links: tuple[Json, ...] = ()
) -> Json:  # fmt: skip
    """Return a message with only the names of its files: the caller has them."""
    files = [{"type": "input_file", "filename": file.name} for file in attachment_heads(tx, access, file_ids)]
    words = [{"type": "input_text", "text": text}] if text else []
    return {"type": "message", "role": "user", "content": [*words, *files, *links]}


def _output(entry: Entry) -> Json:
    details = entry.details or {}
    output = details.get("output", entry.content)
    return {"type": "function_call_output", "call_id": details["callId"], "output": output}
