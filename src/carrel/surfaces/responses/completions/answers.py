"""Responses as Chat Completions shows them."""

from carrel.surfaces.responses.errors import ResponsesError
from carrel.surfaces.responses.requests import Json

# Between what the agent said before a call and what it said after it.
PARAGRAPH = "\n\n"
# A client repeats a request after a 5xx, a 409 or a 429, and the agent would get the same message again.
_FAILED_STATUS = 424


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
    """Return a call of one of the caller's functions."""
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def finish_of(response: Json) -> str:
    """Return why a completion ends here."""
    if any(item["type"] == "function_call" for item in response["output"]):
        return "tool_calls"
    match (response.get("incomplete_details") or {}).get("reason"):
        case None:
            return "stop"
        case "content_filter":
            return "content_filter"
        case _:
            return "length"


def usage_of(response: Json) -> Json | None:
    """Return what a completion used."""
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
