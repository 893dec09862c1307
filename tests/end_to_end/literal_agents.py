"""Agents that do literally what they are sent, each in its own way; a scripted gateway asks them for every answer."""

from collections.abc import Callable
from typing import Any

from tests.scripted_gateway import Answer, Request, calls, text

Agent = Callable[[Request], Answer]
ACKNOWLEDGED = "Got it, I will start on this now."
RESULT = "The result is forty-two."
# What instructions say, and the statuses that whoever does exactly that sets one after the other.
_SAID = {
    "set it to done with task_status: until you do": ["done"],
    "to review and then to done": ["review", "done"],
    "If nothing is missing, set it to done with task_status": ["done"],
    "set in_progress, do it before you answer": ["in_progress", "review"],
    "move the task with task_status to review; done is for": ["review"],
}
# They end a turn, so that no other call would be made beside them.
_ENDING = ("decline", "request_input")


def obedient(request: Request) -> Answer:
    """Do exactly what the instructions say, and nothing more."""
    made = _calls_made(request)
    wanted = _calls_wanted(request)
    return calls(wanted[made]) if made < len(wanted) else text(RESULT)


def acknowledging(_request: Request) -> Answer:
    """Only ever say that the work will begin."""
    return text(ACKNOWLEDGED)


def silent(request: Request) -> Answer:
    """Say nothing wherever that is offered."""
    return text("NO_REPLY") if "NO_REPLY" in request.body.decode() else obedient(request)


def loose(request: Request) -> Answer:
    """Call every tool with the least that its schema asks for.

    What it spawned, and what that brings back, only answers: spawning anew for every result would be its own choice.
    """
    if _calls_made(request) or "sub-agent" in request.json["instructions"].partition("Your tools,")[0]:
        return text("I have tried everything.")
    tools = [tool for tool in request.json["tools"] if tool["name"] not in _ENDING]
    return calls(*((tool["name"], _least(tool["parameters"], tool["parameters"])) for tool in tools))


AGENTS: dict[str, Agent] = {
    "obedient": obedient, "acknowledging": acknowledging, "silent": silent, "loose": loose
}  # fmt: skip


def _calls_made(request: Request) -> int:
    sent = request.json["input"]
    newest = max(at for at, item in enumerate(sent) if item.get("role") == "user")
    return sum(item.get("type") == "function_call_output" for item in sent[newest:])


def _calls_wanted(request: Request) -> list[tuple[str, Any]]:
    instructions = request.json["instructions"]
    if "This is the account's orchestrator chat" in instructions:
        # The work is given to the first of the team that it is told of.
        heading = "\n".join(part["text"] for part in request.json["input"][-1].get("content", ()))
        team = heading.partition("Your team, by slug:\n- ")[2].partition(":")[0]
        return [("task_create", {"title": "The report", "assigneeSlugs": [team]})] if team else []
    statuses = next((found for said, found in _SAID.items() if said in instructions), [])
    task_id = request.json["metadata"].get("taskId")
    return [("task_status", {"taskId": task_id, "status": status}) for status in statuses]


def _least(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """Return the least value that a schema allows."""
    if "$ref" in schema:
        return _least(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _least(schema["anyOf"][0], whole)
    match schema.get("type"):
        case "object":
            required = schema.get("required", ())
            return {name: _least(schema["properties"][name], whole) for name in required}
        case "array":
            return [_least(schema["items"], whole)] * schema.get("minItems", 0)
        case "string":
            return "x" * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None
