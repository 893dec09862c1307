"""Turns what a coding agent says into the answer of a step: its reply, or its request for permission."""

from carrel.gateway.acp.actions import permission_id
from carrel.gateway.acp.events import PermissionRequest
from carrel.gateway.acp.faults import AcpFaults
from carrel.gateway.answers import BETWEEN_MESSAGES, build_answer, whole_characters
from carrel.gateway.items import call_item, incomplete, message_item, text_part
from carrel.gateway.model import Item, OnText, StepAnswer
from carrel.kernel.limits import ACP_ANSWER_CHARS_MAX

_NOTHING_SAID = "[The coding agent ended its turn without a message.]"
_CUT_SHORT = {"max_tokens": "max_output_tokens", "max_turn_requests": "max_turn_requests"}


class Reply:
    """The reply of an agent as it arrives. Text after an action starts a new paragraph."""

    def __init__(self, on_text: OnText, name: str, faults: AcpFaults) -> None:
        self._on_text = on_text
        self._name = name
        self._faults = faults
        self._pieces: list[str] = []
        self._chars = 0
        self._is_paused = False
        self._items: list[Item] = []

    def say(self, text: str) -> None:
        """Add a piece; raise GatewayFault if the reply gets too long."""
        text = whole_characters(text)
        if self._is_paused and self._pieces and text:
            text = BETWEEN_MESSAGES + text.lstrip("\n")
        self._is_paused = self._is_paused and not text
        self._chars += len(text)
        if self._chars > ACP_ANSWER_CHARS_MAX:
            raise self._faults.of_length(ACP_ANSWER_CHARS_MAX)
        if text:
            self._pieces.append(text)
            self._on_text(text)

    def pause(self) -> None:
        """Note an action, so that the next text starts a new paragraph."""
        self._is_paused = True

    def ask(self, asked: PermissionRequest, count: int) -> str:
        """End with a permission request instead; return the id of its call."""
        call_id = permission_id(count, asked.tool_call_id)
        self._items = [call_item(call_id, *asked.about)]
        return call_id

    def end(self, reason: str) -> StepAnswer:
        """Return the answer of a turn that ended for this reason; raise GatewayFault if that means it failed."""
        if reason == "refusal":
            raise self._faults.of_refusal("".join(self._pieces))
        if reason == "cancelled":
            raise self._faults.of_cancelled()
        if not "".join(self._pieces).strip():
            self._pieces = [_NOTHING_SAID] if self._is_paused else []
        return self.answer(_CUT_SHORT.get(reason))

    def answer(self, cut_short: str | None = None) -> StepAnswer:
        """Return what was said and asked so far."""
        text = "".join(self._pieces)
        output = [*([message_item(text_part(text))] if text else []), *self._items]
        return build_answer(output, {"model": self._name} | incomplete(cut_short), seed="", faults=self._faults)
