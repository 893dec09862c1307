"""Reading and running slash commands. A token that is no command is ordinary text."""

from carrel.kernel import Access, Code, Refusal
from carrel.modes.commands.model import Command, Done, Scene, Typed
from carrel.modes.commands.options import set_model, set_sending, set_thinking
from carrel.modes.commands.schedules import schedule
from carrel.modes.commands.sessions import new_session, recent_sessions, reset, stop, switch
from carrel.modes.commands.status import status, whoami
from carrel.storage import Tx


def read_command(text: str) -> Typed | None:
    """The command that a chat line is; None for ordinary text."""
    first, _, more = text.strip().partition("\n")
    token, *words = first.split() or [""]
    # In a group a name may be tied to a bot: /help@carrel.
    name = token[1:].partition("@")[0].lower()
    if not token.startswith("/") or name not in COMMANDS:
        return None
    return Typed(name, tuple(words), more.strip())


def run_command(tx: Tx, access: Access, scene: Scene, typed: Typed) -> Done:
    """Do what a command says in its session; what cannot be done is told in the reply."""
    command = COMMANDS[typed.name]
    if command.owner_only and access.kind != "owner":
        raise Refusal(Code.FORBIDDEN, f"/{typed.name} is for the owner of the account.")
    if command.alone and (typed.more or len(typed.words) > 1):
        raise Refusal(Code.FORBIDDEN, f"/{typed.name} stands alone in its message: {command.usage}")
    try:
        result = command.act(tx, access, scene, typed)
    except Refusal as refusal:
        result = refusal.message
    reply, key = (result, scene.lane.session_key) if isinstance(result, str) else result
    return Done(command=typed.name, reply=reply, key=key)


def _help(_tx: Tx, _access: Access, _scene: Scene, _typed: Typed) -> str:
    width = max(len(command.usage) for command in COMMANDS.values())
    return "\n".join(f"{command.usage:<{width}}  {command.effect}" for command in COMMANDS.values())


COMMANDS: dict[str, Command] = {
    "help": Command(usage="/help", effect="shows this list", act=_help),
    "status": Command(usage="/status", effect="shows how this session stands", act=status),
    "whoami": Command(usage="/whoami", effect="shows who you are here", act=whoami),
    "new": Command(usage="/new [agent]", effect="begins a new session and goes there", act=new_session),
    "sessions": Command(usage="/sessions [count]", effect="lists your latest sessions", act=recent_sessions),
    "switch": Command(usage="/switch <sessionId>", effect="goes to another session", act=switch),
    "reset": Command(usage="/reset", effect="begins this session afresh with the next line", act=reset),
    "stop": Command(usage="/stop", effect="cancels what runs and what waits here", act=stop),
    "send": Command(
        usage="/send on|off|inherit",
        effect="allows or denies sending here (owner)",
        act=set_sending,
        owner_only=True,
        alone=True,
    ),
    "schedule": Command(
        usage="/schedule list|delete <id>|help", effect="shows or ends this session's schedules", act=schedule
    ),
    "model": Command(usage="/model <name>|default", effect="chooses this session's model", act=set_model),
    "think": Command(usage="/think <level>|default", effect="chooses how hard the model thinks here", act=set_thinking),
}
