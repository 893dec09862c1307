"""Digests: the state of a topic or a task in a few lines, renewed in the background after new messages.

Quotations of entries must neither outlive nor precede them.
"""

from collections.abc import Iterable
from functools import partial
from logging import getLogger

from carrel.board import digest_store as store
from carrel.board.digest_rules import DIGEST_INSTRUCTIONS, Material, digest_by_rule, material_text
from carrel.board.digest_store import Kind, Renewal
from carrel.board.model_calls import Model
from carrel.board.route_store import delete_routes_of_messages
from carrel.gateway import GatewayFault
from carrel.journal import About, DeletedEntry, Entry, append_event, entries_by_id, json_text
from carrel.kernel import MS_PER_MINUTE, Access, clip, iso
from carrel.kernel.limits import DIGEST_ENTRIES_MAX
from carrel.kernel.settings import DigestsSettings
from carrel.storage import Database, Tx
from carrel.topics import set_task_digest, set_topic_digest

_log = getLogger("carrel.board")


async def renew_digests(
    db: Database, access: Access, settings: DigestsSettings, model: Model | None, cycle_id: str
) -> None:  # fmt: skip
    """Renew as many digests as one turn may; by rule if no model answers."""
    for renewal in await db.read(lambda tx: store.renewals_due(tx, access, limit=settings.per_cycle)):
        told = partial(store.entries_told_of, access=access, kind=renewal.kind, item_id=renewal.id)
        entries = await db.long_read(partial(told, limit=DIGEST_ENTRIES_MAX))
        material = Material(name=renewal.name, entries=entries)
        text = ""
        if model is not None and material.entries:
            try:
                shown, name = material_text(material), f"{cycle_id}:digest:{renewal.id}"
                text = await model.ask(db, access, name, DIGEST_INSTRUCTIONS, shown)
            except (GatewayFault, TimeoutError) as error:
                _log.warning("digest_without_model", extra={"error": str(error)[:200]})
                model = None
        text = clip(text.strip(), settings.chars_max) or digest_by_rule(material, settings.chars_max)
        await db.write(partial(_write, access=access, settings=settings, renewal=renewal, material=material, text=text))


def _write(
    tx: Tx, access: Access, settings: DigestsSettings, renewal: Renewal, material: Material, text: str
) -> None:  # fmt: skip
    """Write a digest; messages that arrive meanwhile go into the next one."""
    kind, item_id = renewal.kind, renewal.id
    # From here on, whoever deletes a quoted entry waits, and then removes the digest.
    store.hold_item(tx, access, kind, item_id)
    told = [entry.id for entry in store.entries_told_of(tx, access, kind, item_id, limit=DIGEST_ENTRIES_MAX)]
    newest = [entry.id for entry in material.entries[-1:]]
    as_told = entries_by_id(tx, access, [entry.id for entry in material.entries])
    if as_told != list(material.entries) or not set(newest) <= set(told):
        # A quoted entry was deleted, changed or moved, or the task was reopened: the next turn writes another digest.
        return
    space_id = None
    if kind == "topic":
        space_id = set_topic_digest(tx, access, item_id, text).space_id
    else:
        set_task_digest(tx, access, item_id, text)
    store.end_renewal(tx, access, renewal)
    if told[-1:] != newest:
        store.note_digest(tx, access, kind, item_id, int(settings.interval_minutes * MS_PER_MINUTE))
    publish_digest(tx, access, kind, item_id, space_id)


def forget_digest(tx: Tx, access: Access, kind: Kind, item_id: str) -> None:
    """Remove the digest of a topic or a task, if any, and request another; also a topic's profile."""
    space_id = store.forget_digest(tx, access, kind, item_id)
    if kind == "topic":
        store.forget_profile(tx, access, item_id)
    if space_id is not None:
        publish_digest(tx, access, kind, item_id, space_id)


def forget_quotations(tx: Tx, access: Access, entries: Iterable[Entry | DeletedEntry]) -> None:
    """Remove what may quote entries that are about to be deleted, changed or moved: routes and digests.

    Topics and tasks are locked here, so before the entries, as in every move of them with their entries.
    """
    quoted = list(entries)
    for kind in store.KINDS:
        for item_id in sorted({getattr(entry, f"{kind}_id") for entry in quoted} - {None}):
            forget_digest(tx, access, kind, item_id)
    for session_key in sorted({entry.session_key for entry in quoted if entry.session_key is not None}):
        numbers = {entry.seq for entry in quoted if entry.session_key == session_key}
        delete_routes_of_messages(tx, access, session_key, numbers)


def publish_digest(tx: Tx, access: Access, kind: Kind, item_id: str, space_id: str | None) -> None:
    """Publish that the digest of a topic or a task was written or removed."""
    about = About(topic_id=item_id, space_id=space_id) if kind == "topic" else About(task_id=item_id)
    body = {"kind": kind, "id": item_id, "digestUpdatedAt": iso(tx.now)}
    append_event(tx, access, "digest.updated", about, json_text(body))
