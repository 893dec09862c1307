"""Responses as Open Responses shows them: the resource, its items and its usage, and the input it was asked."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.delivery import LEFT_OUT_NOTE, is_about_approval
from carrel.journal import Entry, entries_of_run
from carrel.kernel import MS_PER_SECOND, Access
from carrel.kernel.limits import NAME_CHARS_MAX, RESPONSE_PAGE_DEFAULT, RESPONSE_PAGE_MAX
from carrel.records import attachment_heads
from carrel.runs import Run, extras_of, is_sender_call, open_calls, run_by_id
from carrel.storage import Tx
from carrel.surfaces.responses.errors import no_response, wrong
from carrel.surfaces.responses.input_items import USAGE_DETAILS, links_text
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.store import Response, next_response

_decode = msgspec.json.Decoder(Json).decode
# The note of a run that deliberately gave no reply.
_SILENT = "no_reply"
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}


class ResponseState(Struct, frozen=True, kw_only=True):
    """One stretch of a run as it is stored now: its items, without ids, and whether it is over."""

    response: Response
    following: Response | None
    run: Run
    items: list[Json]
    # When the newest of its entries was written.
    said_at: int | None

    @property
    def rests(self) -> bool:
        """Whether this stretch is over: nothing more can follow in it."""
        return self.following is not None or _rests(self.run)

    @property
    def is_held(self) -> bool:
        """Whether the run waits for a budget, or for a person who lets a loop go on: that may take days."""
        return self.following is None and self.run.held_for is not None


def state_of(tx: Tx, access: Access, response: Response) -> ResponseState:
    state = find_state(tx, access, response)
    if state is None:
        raise no_response()
    return state


def find_state(tx: Tx, access: Access, response: Response) -> ResponseState | None:
    """Return the stretch as it is now; None once it was deleted with its session."""
    run = run_by_id(tx, access, response.run_id)
    if run is None:
        return None
    following = next_response(tx, access, response)
    rests = following is not None or _rests(run)
    own = entries_of_run(tx, access, run.id) if run.session_id is not None else []
    upto = None if following is None else following.after_seq
    shown = [entry for entry in own if entry.seq > response.after_seq and (upto is None or entry.seq <= upto)]
    items = [item for entry in shown for item in _items(entry, run, rests=rests)]
    if following is None and run.waiting_for == "tool_output":
        # A call left open by an earlier stretch is shown again: the run is still waiting for its output.
        pending = [call for call in open_calls(own) if is_sender_call(call) and call.seq <= response.after_seq]
        items += [_call(call) for call in pending]
    said_at = shown[-1].created_at if shown else None
    return ResponseState(response=response, following=following, run=run, items=items, said_at=said_at)


def _rests(run: Run) -> bool:
    """Whether a run has ended or is waiting for its sender; approvals are requested from a person elsewhere."""
    return run.settled and not (run.state == "waiting" and run.waiting_for == "approval")


def _items(entry: Entry, run: Run, *, rests: bool) -> list[Json]:
    """Return the items of an entry: messages, and calls that the caller must execute."""
    details = entry.details or {}
    if entry.role == "toolCall":
        spoken = [_message(details["said"], "commentary")] if details.get("said") else []
        return [*spoken, *([_call(entry)] if is_sender_call(entry) else [])]
    # Whether a reply is complete is known once its run has ended.
    if entry.role != "assistant" or not rests or is_about_approval(entry):
        return []
    is_cut = not details.get("question") and cut_short(run) is not None
    return [_message(entry.content, "final_answer", "incomplete" if is_cut else "completed")]


def text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(text: str, phase: str, status: str = "completed") -> Json:
    return {"type": "message", "status": status, "role": "assistant", "phase": phase, "content": [text_part(text)]}


def _call(entry: Entry) -> Json:
    details = entry.details or {}
    named = {"call_id": details["callId"], "name": details["name"], "arguments": details["arguments"]}
    return {"type": "function_call", "status": "completed"} | named


def with_id(response_id: str, index: int, item: Json) -> Json:
    """Return an item with the id of its position in the response."""
    return {"id": f"{_PREFIXES[item['type']]}_{response_id.removeprefix('resp_')}_{index}"} | item


def cut_short(run: Run) -> str | None:
    """Return why a completed run's reply is incomplete; None when it is complete."""
    if run.state != "completed" or run.note is None:
        return None
    return None if run.note == _SILENT or run.note.startswith(LEFT_OUT_NOTE) else run.note


def status_of(state: ResponseState) -> str:
    run = state.run
    if state.following is not None:
        return "completed"
    match run.state:
        case "queued":
            return "in_progress" if run.attempt else "queued"
        case "running":
            return "in_progress"
        case "completed" if cut_short(run) is not None:
            return "incomplete"
        case "waiting":
            return "completed" if _rests(run) else "in_progress"
        case "cancelled" if run.is_left:
            # It was complete, and stays so.
            return "completed"
        case other:
            return other


def render(state: ResponseState, *, status: str | None = None, output: list[Json] | None = None) -> Json:
    """Return the resource; `status` and `output` as a stream has sent them so far, else as they are stored."""
    response, run = state.response, state.run
    shown = status or status_of(state)
    is_over = shown not in ("queued", "in_progress")
    items = [with_id(response.id, index, item) for index, item in enumerate(state.items)]
    request = _decode(response.request)
    reasons = {"cancelled": run.reason or "cancelled", "incomplete": cut_short(run)}
    error = {"code": run.error_code or "server_error", "message": run.error_message or "The run failed."}
    return {
        "id": response.id,
        "object": "response",
        "created_at": response.created_at // MS_PER_SECOND,
        "completed_at": _rested_at(state) // MS_PER_SECOND if shown == "completed" else None,
        "status": shown,
        "incomplete_details": {"reason": reasons[shown]} if shown in reasons else None,
        "previous_response_id": response.previous_id,
        "output": items if output is None else output,
        "error": error if shown == "failed" or state.is_held else None,
        "usage": _usage(state) if is_over else None,
        **request,
        "metadata": request["metadata"] | {"runId": run.id, "sessionKey": run.key},
    }


def _rested_at(state: ResponseState) -> int:
    if state.following is not None and state.following.rested_at is not None:
        return state.following.rested_at
    if state.run.is_left and state.said_at is not None:
        return state.said_at
    return state.run.ended_at or state.run.updated_at


def _usage(state: ResponseState) -> Json:
    """Return the usage of this stretch: the run's usage at its end, less that at its start."""
    spent_by_end = state.following.spent if state.following is not None else state.run.usage
    end, start = _spent(spent_by_end), _spent(state.response.spent)
    return {name: max(0, end[name] - start[name]) for name in end} | USAGE_DETAILS


def _spent(usage: str | None) -> dict[str, int]:
    used = _decode(usage) if usage else {}
    names = {"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens"}
    return {name: int(used.get(stored) or 0) for name, stored in names.items()}


class Page(Struct, frozen=True, kw_only=True):
    """Which items to return: those behind `after`, newest first unless `order` is `asc`."""

    limit: Annotated[int, Meta(ge=1, le=RESPONSE_PAGE_MAX)] = RESPONSE_PAGE_DEFAULT
    order: Literal["asc", "desc"] = "desc"
    after: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | None = None


def list_input(tx: Tx, access: Access, response: Response, page: Page) -> Json:
    run = run_by_id(tx, access, response.run_id)
    if run is None:
        raise no_response()
    asked = _continuation(tx, access, run, response) if response.stretch else _beginning(tx, access, run)
    # No item of the output has such an id.
    prefix = f"{response.id.removeprefix('resp_')}_in"
    items = [
        {"id": f"{_PREFIXES[item['type']]}_{prefix}{n}", "status": "completed"} | item for n, item in enumerate(asked)
    ]
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


def _beginning(tx: Tx, access: Access, run: Run) -> list[Json]:
    extras = extras_of(tx, access, run.id)
    text = "" if run.text == links_text(extras.parts) else run.text
    return [*extras.before, _asked_message(tx, access, text, run.attached(), extras.parts), *extras.after]


def _continuation(tx: Tx, access: Access, run: Run, response: Response) -> list[Json]:
    """Return the outputs and the message that continued a run: its last entries before those of the response."""
    items: list[Json] = []
    for entry in reversed([entry for entry in entries_of_run(tx, access, run.id) if entry.seq <= response.after_seq]):
        if entry.role == "user":
            items.append(_asked_message(tx, access, entry.content, entry.attachment_ids))
        elif entry.role == "toolResult" and is_sender_call(entry):
            details = entry.details or {}
            output = details.get("output", entry.content)
            items.append({"type": "function_call_output", "call_id": details["callId"], "output": output})
        else:
            break
    return items[::-1]


def _asked_message(tx: Tx, access: Access, text: str, file_ids: tuple[str, ...], links: tuple[Json, ...] = ()) -> Json:
    """Return a message with only the names of its files: the caller has them."""
    files = [{"type": "input_file", "filename": file.name} for file in attachment_heads(tx, access, file_ids)]
    words = [{"type": "input_text", "text": text}] if text else []
    return {"type": "message", "role": "user", "content": [*words, *files, *links]}
