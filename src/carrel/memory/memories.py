"""Keeping, changing, forgetting and promoting memories, each with its event. Only `promote` writes `global`."""

from msgspec import UNSET, structs

from carrel.journal import About, about_lane, append_event, json_text
from carrel.kernel import METRICS, Access, Code, Refusal, invalid, not_found
from carrel.kernel.limits import MEMORY_REASON_CHARS_MAX, MEMORY_TAGS_MAX
from carrel.memory import store
from carrel.memory.model import (
    Memory,
    MemoryChange,
    NewMemory,
    Reader,
    check,
    fingerprint,
    scope_key,
    searched_text,
    words_of,
)
from carrel.memory.scopes import GLOBAL_SCOPE, Scope
from carrel.sessions import LaneDeleted
from carrel.storage import Database, Tx


def keep(tx: Tx, access: Access, scope: Scope, agent_id: str, new: NewMemory) -> Memory:
    """Keep a memory in a scope other than global; one with the same content is renewed instead."""
    if scope.kind == "global":
        hint = "keep it in a session, goal or task, and promote it with a reason"
        raise Refusal(Code.PROMOTION_REQUIRED, f"Nothing is written to global directly: {hint}.", field="scope")
    return _keep(tx, access, scope, agent_id, new)


def _keep(tx: Tx, access: Access, scope: Scope, agent_id: str, new: NewMemory, **promotion: str) -> Memory:
    check(new)
    where, bound = scope_key(scope, agent_id)
    memory = Memory(
        id=tx.new_id("mem"),
        scope=where,
        agent_id=bound,
        type=new.type,
        title=new.title or _title(new.content),
        content=new.content,
        tags=tuple(dict.fromkeys(new.tags)),
        confidence=new.confidence,
        fingerprint=fingerprint(new.type, new.content),
        created_by=access.actor_id,
        created_at=tx.now,
        updated_at=tx.now,
        source_run_id=new.source_run_id,
        source_entry_id=new.source_entry_id,
        expires_at=new.expires_at,
        **promotion,
    )
    if not store.insert_memory(tx, access, memory):
        memory = _renewed(tx, access, memory)
    _index(tx, access, memory)
    if new.supersedes is not None:
        _supersede(tx, access, new.supersedes, memory)
    _publish(tx, access, "memory.promoted" if promotion else "memory.written", memory)
    return memory


def _renewed(tx: Tx, access: Access, again: Memory) -> Memory:
    """The existing memory with the same content, renewed: valid again, with the higher confidence of the two."""
    known = store.memory_saying(tx, access, again.read_scope, again.agent_id, again.fingerprint)
    assert known is not None, "only a memory that says the same keeps another from being inserted"
    renewed = structs.replace(
        known,
        confidence=max(known.confidence, again.confidence),
        tags=tuple(dict.fromkeys((*known.tags, *again.tags)))[:MEMORY_TAGS_MAX],
        expires_at=again.expires_at,
        superseded_by=None,
        updated_at=tx.now,
        promoted_from=again.promoted_from,
        promoted_by=again.promoted_by,
        promotion_reason=again.promotion_reason,
    )
    store.update_memory(tx, access, renewed)
    return renewed


def _supersede(tx: Tx, access: Access, old_id: str, by: Memory) -> None:
    old = store.memory_by_id(tx, access, old_id, hold=True)
    if old is None or (old.scope, old.agent_id) != (by.scope, by.agent_id) or old.id == by.id:
        raise not_found("memory")
    store.update_memory(tx, access, structs.replace(old, superseded_by=by.id, updated_at=tx.now))
    # It is no longer found by its words, so that it takes no room among results.
    store.put_words(tx, access, old, ())


def _title(content: str) -> str:
    first = content.strip().partition("\n")[0]
    return first if len(first) <= 80 else first[:79].rstrip() + "…"


def _index(tx: Tx, access: Access, memory: Memory) -> None:
    store.put_words(tx, access, memory, words_of(searched_text(memory)))


def in_chain(tx: Tx, access: Access, reader: Reader, memory_id: str, *, hold: bool = False) -> Memory:
    """Return a memory of a reader's chain; any other is not found, whether or not it exists."""
    memory = store.memory_by_id(tx, access, memory_id, hold=hold)
    if memory is None:
        raise not_found("memory")
    if (memory.read_scope, memory.agent_id) not in reader.scope_keys():
        METRICS.count("memory.scope.cross_session_blocked.count", access.account_id)
        raise not_found("memory", hides=True)
    return memory


def change(tx: Tx, access: Access, memory: Memory, wanted: MemoryChange) -> Memory:
    """Change a memory that is not global."""
    require_own(memory)
    check(wanted)
    given = {name: value for name, value in structs.asdict(wanted).items() if value is not UNSET}
    if memory.title == _title(memory.content):
        # The title was made from the content, so it changes with it; an empty one is generated again as well.
        given.setdefault("title", "")
    changed = structs.replace(memory, **given)
    changed = structs.replace(changed, title=changed.title or _title(changed.content))
    said = fingerprint(changed.type, changed.content)
    if said != memory.fingerprint and store.memory_saying(tx, access, memory.read_scope, memory.agent_id, said):
        raise Refusal(Code.CONFLICT, "Another memory of this scope says the same; forget one of the two.")
    changed = structs.replace(changed, fingerprint=said, updated_at=tx.now)
    store.update_memory(tx, access, changed)
    _index(tx, access, changed)
    _publish(tx, access, "memory.written", changed)
    return changed


def require_own(memory: Memory) -> None:
    """Refuse a global memory; only those of a session, goal or task may be changed or forgotten here."""
    if memory.read_scope == str(GLOBAL_SCOPE):
        message = "A global memory is not changed here: ask a person to forget it, and promote another."
        raise Refusal(Code.PROMOTION_REQUIRED, message, field="scope")


def forget(tx: Tx, access: Access, memory: Memory) -> None:
    """Delete a memory."""
    store.delete_memory(tx, access, memory.id)
    _publish(tx, access, "memory.forgotten", memory)


def promote(tx: Tx, access: Access, memory: Memory, reason: str) -> Memory:
    """Copy a memory to global, with the reason and who gave it."""
    if not reason.strip():
        raise invalid("reason", "Say why this should be known everywhere.")
    if len(reason) > MEMORY_REASON_CHARS_MAX:
        message = f"reason has at most {MEMORY_REASON_CHARS_MAX} characters."
        raise Refusal(Code.TOO_LONG, message, field="reason")
    if memory.read_scope == str(GLOBAL_SCOPE):
        raise Refusal(Code.CONFLICT, "This memory is global already.")
    names = (name for name in NewMemory.__struct_fields__ if name != "supersedes")
    new = NewMemory(**{name: getattr(memory, name) for name in names})
    METRICS.count("memory.promoted.count", access.account_id)
    promotion = {"promoted_from": memory.id, "promoted_by": access.actor_id, "promotion_reason": reason}
    return _keep(tx, access, GLOBAL_SCOPE, "", new, **promotion)


def forget_scope(tx: Tx, access: Access, scope: Scope, agent_id: str) -> int:
    """Delete every memory of a session or goal that is gone."""
    return store.delete_scope(tx, access, *scope_key(scope, agent_id))


def observe_sessions(db: Database) -> None:
    """Register the observer that forgets the memories of deleted sessions."""
    db.observe(LaneDeleted, _forget_session)


def _forget_session(tx: Tx, deleted: LaneDeleted) -> None:
    forget_scope(tx, deleted.access, Scope.of_session(deleted.key.identity), deleted.key.agent)


def _publish(tx: Tx, access: Access, name: str, memory: Memory) -> None:
    body = {"id": memory.id, "scope": memory.read_scope, "type": memory.type, "promotedFrom": memory.promoted_from}
    append_event(tx, access, name, _about(memory), json_text(body))


def _about(memory: Memory) -> About:
    """What a memory's event is about, which decides who sees it: a session, a task, or the whole account."""
    scope = Scope.parse(memory.read_scope)
    lane = scope.lane_of(memory.agent_id) if scope.channel else None
    return About(task_id=scope.task_id or None) if lane is None else about_lane(lane)
