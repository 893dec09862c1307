"""Commands that set something on the session for all who speak in it."""

from typing import Any, get_args

from carrel.agents import Thinking
from carrel.kernel import Access
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.modes.commands.model import Scene, Typed
from carrel.sessions import LaneChange, change_lane
from carrel.storage import Tx

_SENDING = {"on": "allow", "off": "deny", "inherit": None}


def set_sending(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str:
    """Whether anything may be said here."""
    word = typed.words[0].lower() if typed.words else ""
    if word not in _SENDING:
        return "Say /send on, /send off or /send inherit."
    _set(tx, access, scene, send_policy=_SENDING[word])
    return {"on": "Sending is allowed here.", "off": "Sending is denied here."}.get(
        word, "Sending follows the rules again."
    )


def set_model(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str:
    """Which model answers here."""
    if len(typed.words) != 1 or len(typed.words[0]) > NAME_CHARS_MAX:
        return "Say /model <name>, or /model default."
    name = typed.words[0]
    _set(tx, access, scene, model=None if name == "default" else name)
    return "The agent's own model answers here." if name == "default" else f"{name} answers here from the next line on."


def set_thinking(tx: Tx, access: Access, scene: Scene, typed: Typed) -> str:
    """How hard the model thinks here."""
    level = typed.words[0].lower() if len(typed.words) == 1 else ""
    if level != "default" and level not in get_args(Thinking):
        return f"Say /think {'|'.join(get_args(Thinking))}, or /think default."
    _set(tx, access, scene, thinking_level=None if level == "default" else level)
    return (
        "Thinking is as the agent has it." if level == "default" else f"Thinking is {level} here from the next line on."
    )


def _set(tx: Tx, access: Access, scene: Scene, **changed: Any) -> None:
    change_lane(tx, access, scene.lane.session_key, LaneChange(**changed))
