"""Notifying people about runs: the account's owners, and the person who sent the message."""

from collections.abc import Iterable

from carrel.access import account_of, user_by_id
from carrel.agents import agent_by_id
from carrel.kernel import Access, clip
from carrel.kernel.limits import NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.monitoring.titles import titles_of_runs
from carrel.notifications import OWNERS, NewNotification, NotificationType, notify
from carrel.runs import Run, RunChanged, run_by_id
from carrel.storage import Database, Tx


def observe_runs(db: Database) -> None:
    """Register the observer that notifies people of failed runs."""
    db.observe(RunChanged, _notify_failed)


def notify_people(tx: Tx, access: Access, runs: Iterable[Run], new: NewNotification) -> None:
    """Notify the owners and the senders of these runs, unless the account has turned this type off."""
    if notifies(tx, access, new.type):
        senders = {run.actor_id for run in runs if run.actor_id.startswith("usr_")}
        people = [sender for sender in sorted(senders) if user_by_id(tx, access, sender) is not None]
        notify(tx, access, [OWNERS, *people], new)


def _notify_failed(tx: Tx, changed: RunChanged) -> None:
    """Notify people that a run has failed; its error is already stored."""
    if changed.state != "failed":
        return
    run = run_by_id(tx, changed.run.access, changed.run.id)
    assert run is not None, "the change of this run was just written"
    new = NewNotification(
        type="run_failed",
        title=headline(tx, run, "declined" if run.reason == "rejected" else "failed"),
        body=run.error_message or run.reason or "No reason was given.",
        key=run.key,
        task_id=run.task_id,
        # The message becomes an entry when the turn starts.
        entry_id=run.message_id if run.session_id else None,
        run_id=run.id,
        session_id=run.session_id,
    )
    notify_people(tx, run.access, [run], new)


def headline(tx: Tx, run: Run, happened: str) -> str:
    """Return the title of a notification about a run: `Writer failed: Print the list`."""
    agent = agent_by_id(tx, run.access, run.agent_id)
    title = clip(titles_of_runs(tx, run.access, [run])[run.id].title, NOTIFICATION_SUBJECT_CHARS_MAX)
    return f"{agent.name if agent is not None else run.agent_id} {happened}: {title}"


def notifies(tx: Tx, access: Access, kind: NotificationType) -> bool:
    """Return whether people are notified of this; the account may have turned this type off."""
    preferences = account_of(tx, access).settings.get("notificationPreferences") or {}
    return preferences.get(kind) is not False
