"""The commands /context and /receipt: what the agent would be shown of this session, and what it was shown in a run."""

from carrel.commands.model import CommandContext, ParsedCommand
from carrel.context import ContextRequest, build_now, depth_named
from carrel.delivery import Receipt, ShownContext, receipt_of
from carrel.kernel import PEOPLE, Access, not_found
from carrel.monitoring import RunFilter, runs_newest_first, visible_run
from carrel.storage import Tx
from carrel.tools import context_reader


def context(tx: Tx, access: Access, where: CommandContext, command: ParsedCommand) -> str:
    """Show the context block of this session; without a question, nothing is searched."""
    access.require(*PEOPLE)
    key = where.lane.session_key
    request = ContextRequest(
        reference=str(key),
        key=key,
        mode=depth_named(command.words[0] if command.words else None),
        reader=context_reader(tx, access, key),
    )
    return build_now(tx, access, request, where.settings).block


def receipt(tx: Tx, access: Access, where: CommandContext, command: ParsedCommand) -> str:
    """Show what the agent was shown in a run of this session; in the newest, if none is named."""
    access.require(*PEOPLE)
    if command.words:
        runs = [visible_run(tx, access, command.words[0])]
        if runs[0].key != where.lane.key:
            raise not_found("run")
    else:
        runs = runs_newest_first(tx, access, RunFilter(key=where.lane.key), before=None, limit=1)
    return "\n".join(_lines(receipt_of(tx, access, runs[0]))) if runs else "Nothing has been said in this session yet."


def _lines(found: Receipt) -> list[str]:
    lines = [f"{found.run_id}, generation {found.generation or 'none yet'}"]
    for step in found.steps:
        told = f"instructions {step.instructions_version}, {len(step.tools)} tools"
        omitted = f", {step.history_omitted} earlier messages left out" if step.history_omitted else ""
        lines.append(f"Step {step.n}: {step.model}, {told}{omitted}")
    if found.steps and (shown := found.steps[-1].context) is not None:
        lines += _explained(shown)
    return [*lines, f"Everything, to the byte: carrel runs receipt {found.run_id}"]


def _explained(shown: ShownContext) -> list[str]:
    """Return the lines of a block below its headings, each with why it was chosen."""
    waiting = {item.section: [one for one in shown.items if one.section == item.section] for item in shown.items}
    heading, lines = "", list[str]()
    for line in shown.block.splitlines():
        if line in waiting:
            heading = line
        elif waiting.get(heading):
            item = waiting[heading].pop(0)
            lines.append(f"{line}  ({item.scope}: {item.reason})")
    return lines
