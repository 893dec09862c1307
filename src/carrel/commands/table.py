"""Parsing and running slash commands. A message that starts with an unknown command is ordinary text."""

from carrel.commands.auto import auto
from carrel.commands.context import context
from carrel.commands.goals import goal, goals, tasks
from carrel.commands.memory import memory
from carrel.commands.model import Command, CommandContext, CommandResult, ParsedCommand
from carrel.commands.options import set_model, set_sending, set_thinking
from carrel.commands.plans import lock_plan, plan, plans
from carrel.commands.receipts import receipt
from carrel.commands.schedules import schedule
from carrel.commands.sessions import new_session, recent_sessions, reset, stop, switch
from carrel.commands.status import status, whoami
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


def lock_for_command(tx: Tx, access: Access, key: SessionKey, parsed: ParsedCommand) -> None:
    """Lock what a command changes, as far as that comes before the lane of its session in the order of locks."""
    lock = COMMANDS[parsed.name].lock
    if lock is not None:
        lock(tx, access, key, parsed)


def run_command(tx: Tx, access: Access, context: CommandContext, parsed: ParsedCommand) -> CommandResult:
    """Run a command in its session; a refusal of what it does becomes the reply."""
    command = COMMANDS[parsed.name]
    if command.owner_only and access.kind != "owner":
        raise Refusal(Code.FORBIDDEN, f"Only the owner of the account may use /{parsed.name}.")
    if command.alone and (parsed.more or len(parsed.words) > 1):
        raise Refusal(Code.FORBIDDEN, f"/{parsed.name} must be the whole message: {command.usage}")
    try:
        # What it wrote before it was refused is undone; that it was sent stays.
        result = tx.attempt(lambda: command.act(tx, access, context, parsed))
    except Refusal as refusal:
        result = refusal.message
    reply, key = (result, context.lane.session_key) if isinstance(result, str) else result
    return CommandResult(command=parsed.name, reply=reply, key=key)


def _help(_tx: Tx, _access: Access, _context: CommandContext, _parsed: ParsedCommand) -> str:
    width = max(len(command.usage) for command in COMMANDS.values())
    return "\n".join(f"{command.usage:<{width}}  {command.effect}" for command in COMMANDS.values())


COMMANDS: dict[str, Command] = {
    "help": Command(usage="/help", effect="show this list", act=_help),
    "status": Command(usage="/status", effect="show the state of this session", act=status),
    "whoami": Command(usage="/whoami", effect="show who you are", act=whoami),
    "new": Command(usage="/new [agent]", effect="start a new session and switch to it", act=new_session),
    "sessions": Command(usage="/sessions [count]", effect="list your latest sessions", act=recent_sessions),
    "switch": Command(usage="/switch <sessionId>", effect="switch to another session", act=switch),
    "reset": Command(usage="/reset", effect="start a new generation with the next message", act=reset),
    "stop": Command(usage="/stop", effect="cancel everything that runs or waits here; block its task", act=stop),
    "send": Command(
        usage="/send on|off|inherit",
        effect="allow or deny messages to this session (owner only)",
        act=set_sending,
        owner_only=True,
        alone=True,
    ),
    "goal": Command(
        usage="/goal <text>|done|pause|resume|cancel <id>",
        effect="create a goal of this session, or move one",
        act=goal,
    ),
    "goals": Command(usage="/goals", effect="list the goals of this session", act=goals),
    "tasks": Command(usage="/tasks", effect="list the tasks of this session's goals and plans", act=tasks),
    "plan": Command(
        usage="/plan [on|off|status|done|approve|cancel|resume]",
        effect="plan before anything is changed; run the plan's tasks",
        act=plan,
        lock=lock_plan,
    ),
    "plans": Command(usage="/plans", effect="list the plans of this session", act=plans),
    "auto": Command(
        usage="/auto on [goal:<id>|task:<id>|<text>] | off [runId] | status",
        effect="let the agent work by itself on a task or a goal, or stop it",
        act=auto,
    ),
    "schedule": Command(
        usage="/schedule goal|task <id> <cron> [times] | list | delete <id> | help",
        effect="work on a goal or task at regular times; list or delete schedules",
        act=schedule,
    ),
    "memory": Command(
        usage="/memory [list|promote <id> <reason>|forget <id>]",
        effect="list, promote or forget what this session keeps",
        act=memory,
    ),
    "context": Command(
        usage="/context [auto|cheap|full|patient]",
        effect="show the context that an agent gets before a message here",
        act=context,
    ),
    "receipt": Command(
        usage="/receipt [runId]",
        effect="show what the agent was shown, in the newest run or in one of this session",
        act=receipt,
    ),
    "model": Command(usage="/model <name>|default", effect="choose the model of this session", act=set_model),
    "think": Command(usage="/think <level>|default", effect="choose this session's thinking level", act=set_thinking),
}
