"""Commands that change an option of the session for everyone who uses it."""

from typing import Any, get_args

from carrel.agents import Thinking
from carrel.commands.model import CommandContext, ParsedCommand
from carrel.kernel import Access
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.sessions import LaneChange, change_lane
from carrel.storage import Tx

_SENDING = {"on": "allow", "off": "deny", "inherit": None}


def set_sending(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """Allow or deny messages to this session."""
    word = command.words[0].lower() if command.words else ""
    if word not in _SENDING:
        return "Use /send on, /send off or /send inherit."
    _set(tx, access, context, send_policy=_SENDING[word])
    return {"on": "Sending is now allowed here.", "off": "Sending is now denied here."}.get(
        word, "Sending follows the send policy again."
    )


def set_model(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """Choose the model of this session."""
    if len(command.words) != 1 or len(command.words[0]) > NAME_CHARS_MAX:
        return "Use /model <name> or /model default."
    name = command.words[0]
    _set(tx, access, context, model=None if name == "default" else name)
    if name == "default":
        return "This session uses the agent's own model again."
    return f"This session uses {name} from the next message on."


def set_thinking(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """Choose the thinking level of this session."""
    level = command.words[0].lower() if len(command.words) == 1 else ""
    if level != "default" and level not in get_args(Thinking):
        return f"Use /think {'|'.join(get_args(Thinking))} or /think default."
    _set(tx, access, context, thinking_level=None if level == "default" else level)
    if level == "default":
        return "This session uses the agent's own thinking level again."
    return f"The thinking level is {level} from the next message on."


def _set(tx: Tx, access: Access, context: CommandContext, **changed: Any) -> None:
    change_lane(tx, access, context.lane.session_key, LaneChange(**changed))
