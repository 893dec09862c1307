"""The command /memory: what this session keeps in mind, and its promotion and forgetting."""

from carrel.commands.model import LISTED_MAX, CommandContext, ParsedCommand
from carrel.kernel import PEOPLE, Access, clip, one_line
from carrel.memory import Memory, forget, in_chain, memories_listed, promote
from carrel.storage import Tx
from carrel.tools import reader_of

_CONTENT_CHARS_MAX = 160
_HELP = """/memory: list what this session keeps, newest first
/memory promote <id> <reason>: let every session know a memory
/memory forget <id>: forget one"""


def memory(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """List, promote or forget what this session reads; nothing of another session is found."""
    access.require(*PEOPLE)
    key = context.lane.session_key
    reader = reader_of(tx, access, key, key.task_id)
    match command.words:
        case () | ("list",):
            found = memories_listed(tx, access, reader.scope_keys(), kind=None, before=None, limit=LISTED_MAX)
            return "\n".join(map(_line, found)) or "This session keeps nothing yet. Say for example: Remember that …"
        case ("promote", memory_id, *reason):
            kept = in_chain(tx, access, reader, memory_id, hold=True)
            return f"Every session knows it now: {_line(promote(tx, access, kept, ' '.join(reason)))}"
        case ("forget", memory_id):
            kept = in_chain(tx, access, reader, memory_id, hold=True)
            forget(tx, access, kept)
            return f"Forgotten: {_line(kept)}"
        case _:
            return _HELP


def _line(memory: Memory) -> str:
    return f"{memory.id}  [{memory.read_scope}] {memory.type}: {clip(one_line(memory.content), _CONTENT_CHARS_MAX)}"
