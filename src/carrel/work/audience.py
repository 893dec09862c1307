"""Reading who could be notified about a task."""

from carrel.kernel import Access
from carrel.storage import Tx
from carrel.work import store
from carrel.work.directory import Directory
from carrel.work.fanout import Audience
from carrel.work.model import Task


def audience_of(tx: Tx, access: Access, task: Task, directory: Directory) -> Audience:
    """Return a task with everyone who could be notified about it; disabled agents cannot."""
    parties = tuple(
        party
        for party in store.parties_of(tx, access, task.id)
        if party.kind == "user" or ((agent := directory.agents.get(party.party_id)) is not None and agent.enabled)
    )
    return Audience(task=task, parties=parties, orchestrator=directory.orchestrator, reviewers=directory.reviewers)
