"""The journal entries of a run: they all carry its lane, session, agent, channel and task."""

from typing import Any

from carrel.journal import NewEntry
from carrel.kernel import Provenance
from carrel.runs.model import Run

_BY_THE_AGENT = Provenance(kind="internal_system")


def run_entry(run: Run, **fields: Any) -> NewEntry:
    """Return an entry of a run; `fields` are those of NewEntry that the run does not determine."""
    known = {"key": run.key, "session_id": run.session_id, "run_id": run.id, "agent_id": run.agent_id}
    known |= {"channel": run.channel, "task_id": run.told_task_id, "auto_run_id": run.auto_run_id}
    return NewEntry(**known | fields)


def agent_entry(run: Run, role: str, content: str, details: dict[str, Any] | None = None, **fields: Any) -> NewEntry:
    """Return an entry that the run's agent wrote."""
    kind = "conversation" if role == "assistant" else "action"
    fields |= {"type": kind, "role": role, "content": content, "details": details, "author": run.agent_id}
    return run_entry(run, provenance=_BY_THE_AGENT, author_kind="agent", **fields)
