"""The dialect of each kind of gateway to a model server; the built-in agent reads bodies of Open Responses."""

from carrel.gateway.anthropic.dialect import AnthropicDialect
from carrel.gateway.chat.dialect import ChatDialect
from carrel.gateway.dialect import Dialect, ResponsesDialect
from carrel.gateway.openclaw.dialect import OpenClawDialect

DIALECTS: dict[str, type[Dialect]] = {
    "builtin": ResponsesDialect,
    "responses": ResponsesDialect,
    "chat": ChatDialect,
    "anthropic": AnthropicDialect,
    "openclaw": OpenClawDialect,
}
