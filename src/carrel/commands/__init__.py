"""What a person types in a chat: a slash command, an answer to a question, or a message for the agent.

A command acts on the session that is active and never reaches an agent.
"""

from carrel.commands.chat_messages import ChannelChat, ChatMessage, Received, receive, require_usable
from carrel.commands.forks import fork
from carrel.commands.table import known_commands

__all__ = ["ChannelChat", "ChatMessage", "Received", "fork", "known_commands", "receive", "require_usable"]
