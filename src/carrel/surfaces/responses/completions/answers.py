"""A completion from its request to its answer: a response, shown whole or as chunks of a stream."""

from starlette.datastructures import Headers

from carrel.kernel import Access
from carrel.runs import live_runs_of_lane, run_that_made
from carrel.storage import Tx
from carrel.surfaces.responses.completions.requests import Conversation, CreateCompletion, as_response, read_messages
from carrel.surfaces.responses.errors import ResponsesError
from carrel.surfaces.responses.input_items import answered_calls
from carrel.surfaces.responses.operations import Responses, StartedResponse
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.store import newest_response
from carrel.surfaces.responses.stream import Events
from carrel.surfaces.responses.targets import TargetHints, find_target, read_hints

# Between what the agent said before a call and what it said after it.
PARAGRAPH = "\n\n"
# A client repeats a request after a 5xx, a 409 or a 429, and the agent would get the same message again.
_FAILED_STATUS = 424
_ENDS = ("response.completed", "response.failed", "response.incomplete")


def completion_of(response: Json) -> Json:
    """Return a finished response as a completion; ResponsesError if it failed or still goes on."""
    refuse_unfinished(response)
    said = [item["content"][0]["text"] for item in response["output"] if item["type"] == "message"]
    calls = [call_of(item) for item in response["output"] if item["type"] == "function_call"]
    message = {"role": "assistant", "content": PARAGRAPH.join(said) if said or not calls else None, "refusal": None}
    choice = {
        "index": 0,
        "message": message | ({"tool_calls": calls} if calls else {}),
        "logprobs": None,
        "finish_reason": finish_of(response),
    }
    return heading_of(response, "chat.completion") | {"choices": [choice], "usage": usage_of(response)}


def heading_of(response: Json, kind: str) -> Json:
    """Return the fields common to a completion and each of its chunks."""
    metadata = response["metadata"]
    return {
        "id": f"chatcmpl-{metadata['runId']}",
        "object": kind,
        "created": response["created_at"],
        "model": response["model"],
        "service_tier": "default",
        "system_fingerprint": None,
        "metadata": metadata,
    }


def call_of(item: Json) -> Json:
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def finish_of(response: Json) -> str:
    if any(item["type"] == "function_call" for item in response["output"]):
        return "tool_calls"
    reason = (response.get("incomplete_details") or {}).get("reason")
    return {None: "stop", "content_filter": "content_filter"}.get(reason, "length")


def usage_of(response: Json) -> Json | None:
    used = response["usage"]
    if used is None:
        return None
    return {
        "prompt_tokens": used["input_tokens"],
        "completion_tokens": used["output_tokens"],
        "total_tokens": used["total_tokens"],
        "prompt_tokens_details": {"cached_tokens": used["input_tokens_details"]["cached_tokens"]},
        "completion_tokens_details": {"reasoning_tokens": used["output_tokens_details"]["reasoning_tokens"]},
    }


def refuse_unfinished(response: Json) -> None:
    """Raise ResponsesError for a response that has no answer to show."""
    run_id = response["metadata"]["runId"]
    match response["status"]:
        case "failed":
            error = response["error"]
            raise ResponsesError(_FAILED_STATUS, error["code"], error["message"])
        case "cancelled":
            raise ResponsesError(_FAILED_STATUS, "cancelled", f"Run {run_id} was cancelled.")
        case "queued" | "in_progress":
            held = response["error"]
            message = held["message"] if held else f"Run {run_id} goes on."
            later = f"{message} Read its answer with GET /api/runs/{run_id}" + (" then." if held else ", or stream.")
            raise ResponsesError(_FAILED_STATUS, held["code"] if held else "still_running", later)


async def chunks_of(events: Events, *, includes_usage: bool) -> Events:
    """Yield the chunks of a completion, and None as a keepalive; a failure is a chunk with an error."""
    heading: Json = {}
    messages = calls = 0
    try:
        async for event in events:
            if event is None:
                yield None
                continue
            match event["type"]:
                case "response.created":
                    heading = heading_of(event["response"], "chat.completion.chunk")
                    yield _chunk(heading, {"role": "assistant", "content": "", "refusal": None})
                case "response.queued" if event["response"]["error"]:
                    refuse_unfinished(event["response"])
                case "response.output_item.added" if event["item"]["type"] == "message":
                    messages += 1
                    if messages > 1:
                        yield _chunk(heading, {"content": PARAGRAPH})
                case "response.output_text.delta":
                    yield _chunk(heading, {"content": event["delta"]})
                case "response.output_item.done" if event["item"]["type"] == "function_call":
                    yield _chunk(heading, {"tool_calls": [{"index": calls} | call_of(event["item"])]})
                    calls += 1
                case kind if kind in _ENDS:
                    refuse_unfinished(event["response"])
                    yield _chunk(heading, {}, finish_of(event["response"]))
                    if includes_usage:
                        yield heading | {"choices": [], "usage": usage_of(event["response"])}
    except ResponsesError as error:
        yield {"error": error.body()}


def _chunk(heading: Json, delta: Json, finish: str | None = None) -> Json:
    return heading | {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}


async def start_completion(
    responses: Responses, access: Access, headers: Headers, request: CreateCompletion, raw: bytes, key: str | None
) -> StartedResponse:
    """Accept a request as one for a response, under its idempotency key."""
    whole = read_messages(request.messages)
    hints = read_hints(headers, request.model, request.user, None)
    said = whole.newest() if hints.names_session else whole
    try:
        previous_id = await responses.services.db.read(lambda tx: _continued(tx, access, hints, said))
        asked = as_response(request, said, previous_id)
        kept = set() if previous_id is None else {previous_id}
        return await responses.start(access, headers, asked, raw, kept, key)
    except ResponsesError as error:
        raise said.in_its_words(error) from error


def _continued(tx: Tx, access: Access, hints: TargetHints, said: Conversation) -> str | None:
    """Return the id of the response that a request continues: one that waits for its outputs or for its answer."""
    target = find_target(tx, access, hints, set())
    if said.is_answering:
        made = run_that_made(tx, access, target.key.agent, answered_calls(said.items))
        run = made if made is not None and (made.key == str(target.key) or not hints.names_session) else None
    elif hints.names_session:
        live = live_runs_of_lane(tx, access, str(target.key))
        own = [run for run in live if run.state == "waiting" and run.actor_id == access.actor_id]
        run = next((run for run in own if run.waiting_for in ("input", "auth")), None)
    else:
        return None
    newest = None if run is None else newest_response(tx, access, run.id)
    return None if newest is None else newest.id
