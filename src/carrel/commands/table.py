"""Parsing and running slash commands. A message that starts with an unknown command is ordinary text."""

from collections.abc import Mapping

from carrel.commands import sessions
from carrel.commands.auto import auto
from carrel.commands.context import context, receipt
from carrel.commands.goals import goal, goals, tasks
from carrel.commands.memory import memory
from carrel.commands.model import Command, CommandContext, CommandResult, ParsedCommand
from carrel.commands.plans import lock_plan, plan, plans
from carrel.commands.schedules import schedule
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.storage import Tx


def read_command(text: str) -> ParsedCommand | None:
    """Parse a chat message as a command; None for ordinary text."""
    first, _, more = text.strip().partition("\n")
    token, *words = first.split() or [""]
    # In a group a command may name the bot: /help@carrel.
    name = token[1:].partition("@")[0].lower()
    if not token.startswith("/") or name not in COMMANDS:
        return None
    return ParsedCommand(name, tuple(words), more.strip())


def known_commands() -> Mapping[str, Command]:
    """Return every command by its name, in the order of /help."""
    return COMMANDS


def lock_for_command(tx: Tx, access: Access, key: SessionKey, parsed: ParsedCommand) -> None:
    """Lock what a command changes if that comes before the session's lane in the order of locks."""
    if lock := COMMANDS[parsed.name].lock:
        lock(tx, access, key, parsed)


def run_command(tx: Tx, access: Access, context: CommandContext, parsed: ParsedCommand) -> CommandResult:
    """Run a command in its session; if its work is refused, the refusal becomes the reply."""
    command = COMMANDS[parsed.name]
    if command.owner_only and access.kind != "owner":
        raise Refusal(Code.FORBIDDEN, f"Only the owner may use /{parsed.name}.")
    if command.alone and (parsed.more or len(parsed.words) > 1):
        raise Refusal(Code.FORBIDDEN, f"/{parsed.name} must be the whole message: {command.usage}")
    try:
        # Its writes before the refusal are undone; the record that it was sent stays.
        result = tx.attempt(lambda: command.act(tx, access, context, parsed))
    except Refusal as refusal:
        result = refusal.message
        if access.kind == "client" and refusal.code is Code.FORBIDDEN:
            # A stranger in a chat has no token to read about.
            result = f"Only the owner of this bot may use /{parsed.name} in this way."
    reply, key = (result, context.lane.session_key) if isinstance(result, str) else result
    return CommandResult(command=parsed.name, reply=reply, key=key)


def _help(_tx: Tx, _access: Access, _context: CommandContext, _parsed: ParsedCommand) -> str:
    # Not in columns: most chats use a proportional font.
    return "\n".join(f"{command.usage}: {command.effect}" for command in COMMANDS.values())


COMMANDS: dict[str, Command] = {
    "help": Command("/help", "show this list", _help),
    "status": Command("/status", "show the state of this session", sessions.status),
    "whoami": Command("/whoami", "show who you are", sessions.whoami),
    "new": Command("/new [agent]", "start a new session and switch to it", sessions.new_session),
    "sessions": Command("/sessions [count]", "list your latest sessions", sessions.recent_sessions),
    "switch": Command("/switch <sessionId>", "switch to another session", sessions.switch),
    "reset": Command("/reset", "start a new generation with the next message", sessions.reset),
    "stop": Command("/stop", "cancel everything that runs or waits here; block its task", sessions.stop),
    "send": Command("/send on|off|inherit", "allow or deny messages to this session (owner only)", sessions.set_sending,
                    owner_only=True, alone=True),
    "goal": Command("/goal <text>|done|pause|resume|cancel <id>", "create a goal of this session, or move one", goal),
    "goals": Command("/goals", "list the goals of this session", goals),
    "tasks": Command("/tasks", "list the tasks of this session's goals and plans", tasks),
    "plan": Command("/plan [on|off|status|done|approve|cancel|resume]",
                    "plan before anything is changed; run the plan's tasks", plan, lock=lock_plan),
    "plans": Command("/plans", "list the plans of this session", plans),
    "auto": Command("/auto on [goal:<id>|task:<id>|<text>] | off [runId] | status",
                    "let the agent work by itself on a task or a goal, or stop it", auto),
    "schedule": Command("/schedule goal|task <id> <cron> [times] | list | delete <id> | help",
                        "work on a goal or task at regular times; list or delete schedules", schedule),
    "memory": Command("/memory [list|promote <id> <reason>|forget <id>]",
                      "list, promote or forget what this session keeps", memory),
    "context": Command("/context [auto|cheap|full|patient]",
                       "show the context that an agent gets before a message here", context),
    "receipt": Command("/receipt [runId]",
                       "show what the agent was shown, in the newest run or in one of this session", receipt),
    "model": Command("/model <name>|default", "choose the model of this session", sessions.set_model),
    "think": Command("/think <level>|default", "choose this session's thinking level", sessions.set_thinking),
}  # fmt: skip
