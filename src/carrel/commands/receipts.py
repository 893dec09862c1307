"""The command /receipt: what the agent was shown in a run of this session, in short."""

from carrel.commands.model import CommandContext, ParsedCommand
from carrel.delivery import Receipt, ShownContext, receipt_of
from carrel.kernel import PEOPLE, Access, not_found
from carrel.monitoring import RunFilter, runs_newest_first, visible_run
from carrel.runs import Run
from carrel.storage import Tx


def receipt(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> str:
    """Show what the agent was shown in a run of this session; in the newest, if none is named."""
    access.require(*PEOPLE)
    run = _run(tx, access, context, command)
    if run is None:
        return "Nothing has been said in this session yet."
    return "\n".join(_lines(receipt_of(tx, access, run)))


def _run(tx: Tx, access: Access, context: CommandContext, command: ParsedCommand) -> Run | None:
    if not command.words:
        return next(iter(runs_newest_first(tx, access, RunFilter(key=context.lane.key), before=None, limit=1)), None)
    named = visible_run(tx, access, command.words[0])
    if named.key != context.lane.key:
        raise not_found("run")
    return named


def _lines(found: Receipt) -> list[str]:
    lines = [f"{found.run_id}, generation {found.generation or 'none yet'}"]
    for step in found.steps:
        told = f"instructions {step.instructions_version}, {len(step.tools)} tools"
        omitted = f", {step.history_omitted} earlier messages left out" if step.history_omitted else ""
        lines.append(f"Step {step.n}: {step.model}, {told}{omitted}")
    context = found.steps[-1].context if found.steps else None
    lines += [] if context is None else _explained(context)
    return [*lines, f"Everything, to the byte: carrel runs receipt {found.run_id}"]


def _explained(context: ShownContext) -> list[str]:
    """Return the lines of a block below its headings, each with why it was chosen."""
    waiting = {item.section: [one for one in context.items if one.section == item.section] for item in context.items}
    heading, lines = "", list[str]()
    for line in context.block.splitlines():
        if line in waiting:
            heading = line
        elif waiting.get(heading):
            item = waiting[heading].pop(0)
            lines.append(f"{line}  ({item.scope}: {item.reason})")
    return lines
