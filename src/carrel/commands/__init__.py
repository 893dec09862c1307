"""What a person types in a chat: a slash command, an answer to a question, or a message for the agent.

A command acts on the session that is active and never reaches an agent.
"""

from carrel.commands.forks import fork
from carrel.commands.model import CommandContext, CommandResult
from carrel.commands.reception import ChannelChat, ChatMessage, Received, receive, require_usable
from carrel.commands.table import known_commands, read_command, run_command

__all__ = [
    "ChannelChat", "ChatMessage", "CommandContext", "CommandResult", "Received", "fork", "known_commands",
    "read_command",
    "receive", "require_usable", "run_command",
]  # fmt: skip
