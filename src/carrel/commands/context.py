"""The command /context: what the agent would be shown of this session before its next message."""

from carrel.commands.model import CommandContext, ParsedCommand
from carrel.context import ContextRequest, build_now, mode_named
from carrel.kernel import PEOPLE, Access
from carrel.storage import Tx
from carrel.tools import context_reader


def context(tx: Tx, access: Access, where: CommandContext, command: ParsedCommand) -> str:
    """Show the block of this session. Without a question nothing is searched for."""
    access.require(*PEOPLE)
    key = where.lane.session_key
    request = ContextRequest(
        reference=str(key),
        key=key,
        mode=mode_named(command.words[0] if command.words else None),
        reader=context_reader(tx, access, key),
    )
    return build_now(tx, access, request, where.settings).block
