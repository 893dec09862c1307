"""Responses as Open Responses shows them: the resource, its items, and what it cost."""

import msgspec
from msgspec import Struct

from carrel.delivery import is_about_approval
from carrel.journal import Entry, entries_of_run
from carrel.kernel import MS_PER_SECOND, Access
from carrel.runs import SETTLED_STATES, Run, is_senders, open_calls, run_by_id
from carrel.storage import Tx
from carrel.surfaces.responses.errors import no_response
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.store import Response, next_response

_decode = msgspec.json.Decoder(Json).decode
# What a run notes that gave no reply for no reason of its own.
_SILENT = "no_reply"


class Seen(Struct, frozen=True, kw_only=True):
    """One stretch of a run as it is stored now: its items, without ids, and whether it is over."""

    response: Response
    following: Response | None
    run: Run
    items: list[Json]

    @property
    def rests(self) -> bool:
        """True once nothing more can come in this stretch."""
        return self.following is not None or _rests(self.run)


def see(tx: Tx, access: Access, response: Response) -> Seen:
    """The stretch as it is now."""
    seen = look_for(tx, access, response)
    if seen is None:
        raise no_response()
    return seen


def look_for(tx: Tx, access: Access, response: Response) -> Seen | None:
    """The stretch as it is now; None once it was deleted with its session."""
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
        # A call that an earlier stretch left open is shown again: it is still what the run waits for.
        pending = [call for call in open_calls(own) if is_senders(call) and call.seq <= response.after_seq]
        items += [_call(call) for call in pending]
    return Seen(response=response, following=following, run=run, items=items)


def _rests(run: Run) -> bool:
    """True when a run is over, or waits for its sender; whether a tool may act is asked of a person here."""
    return run.state in SETTLED_STATES and not (run.state == "waiting" and run.waiting_for == "approval")


def _items(entry: Entry, run: Run, *, rests: bool) -> list[Json]:
    """What an entry shows of itself: what was said, and calls that are the caller's to make."""
    details = entry.details or {}
    if entry.role == "toolCall":
        said = [_message(details["said"], "commentary")] if details.get("said") else []
        return [*said, *([_call(entry)] if is_senders(entry) else [])]
    # How a reply ended is told with the end of its run.
    if entry.role != "assistant" or not rests or is_about_approval(entry):
        return []
    is_cut = not details.get("question") and cut_short(run) is not None
    return [_message(entry.content, "final_answer", "incomplete" if is_cut else "completed")]


def _message(text: str, phase: str, status: str = "completed") -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "status": status, "role": "assistant", "phase": phase, "content": [part]}


def _call(entry: Entry) -> Json:
    details = entry.details or {}
    named = {"call_id": details["callId"], "name": details["name"], "arguments": details["arguments"]}
    return {"type": "function_call", "status": "completed"} | named


def with_id(response_id: str, index: int, item: Json) -> Json:
    """An item under the id of its place in the response."""
    prefix = "fc" if item["type"] == "function_call" else "msg"
    return {"id": f"{prefix}_{response_id.removeprefix('resp_')}_{index}"} | item


def cut_short(run: Run) -> str | None:
    """Why a completed run's reply is not whole; None when it is."""
    return run.note if run.state == "completed" and run.note not in (None, _SILENT) else None


def status_of(seen: Seen) -> str:
    """The state of a stretch as Open Responses names it."""
    run = seen.run
    if seen.following is not None:
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
        case state:
            return state


def render(seen: Seen, *, status: str | None = None, output: list[Json] | None = None) -> Json:
    """The resource; `status` and `output` as a stream has told them so far, else as they are stored."""
    response, run = seen.response, seen.run
    shown = status or status_of(seen)
    is_over = shown not in ("queued", "in_progress")
    items = [with_id(response.id, index, item) for index, item in enumerate(seen.items)]
    request = _decode(response.request)
    return {
        "id": response.id,
        "object": "response",
        "created_at": response.created_at // MS_PER_SECOND,
        "completed_at": _rested_at(seen) // MS_PER_SECOND if shown == "completed" else None,
        "status": shown,
        "incomplete_details": _incomplete(seen, shown),
        "previous_response_id": response.previous_id,
        "output": items if output is None else output,
        "error": _error(run) if shown == "failed" else None,
        "usage": _usage(seen) if is_over else None,
        **request,
        "metadata": request["metadata"] | {"runId": run.id, "sessionKey": run.key},
    }


def _rested_at(seen: Seen) -> int:
    if seen.following is not None and seen.following.rested_at is not None:
        return seen.following.rested_at
    return seen.run.ended_at or seen.run.updated_at


def _incomplete(seen: Seen, status: str) -> Json | None:
    if status == "cancelled":
        return {"reason": seen.run.reason or "cancelled"}
    return {"reason": cut_short(seen.run)} if status == "incomplete" else None


def _error(run: Run) -> Json:
    return {"code": run.error_code or "server_error", "message": run.error_message or "The run failed."}


def _usage(seen: Seen) -> Json:
    """What this stretch cost: what the run had spent at its end, less what it had spent before."""
    spent_by_end = seen.following.spent if seen.following is not None else seen.run.usage
    end, start = _spent(spent_by_end), _spent(seen.response.spent)
    used = {name: max(0, end[name] - start[name]) for name in end}
    return used | {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def _spent(usage: str | None) -> dict[str, int]:
    told = _decode(usage) if usage else {}
    names = {"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens"}
    return {name: int(told.get(stored) or 0) for name, stored in names.items()}
