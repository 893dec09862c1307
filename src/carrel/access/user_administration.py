"""Creating, changing and removing the users of an account."""

import re

from msgspec import Struct, structs

from carrel.access import store
from carrel.access.model import Role, User, UserChange
from carrel.journal import About, append_event, json_text
from carrel.kernel import Access, Code, Refusal, invalid, is_agent_id, not_found
from carrel.notifications import forget_mailbox
from carrel.storage import Tx


class UserRemoved(Struct, frozen=True):
    """A user was removed from an account."""

    access: Access
    user_id: str


def slug_of(name: str) -> str:
    """Derive a slug from a name: lower case, other characters collapsed to hyphens; may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-")


def make_user(tx: Tx, access: Access, *, name: str, slug: str, email: str | None, role: Role) -> User:
    """Create a user; the slug must be free."""
    _check_slug(slug)
    user = User(id=tx.new_id("usr"), slug=slug, name=name, email=email, role=role, created_at=tx.now)
    if not store.insert_user(tx, access, user):
        raise _taken(slug)
    _append_updated(tx, access, user.id)
    return user


def change_user(tx: Tx, access: Access, user_id: str, change: UserChange) -> User:
    """Change a user's name, slug, email or role."""
    user = store.user_by_id(tx, access, user_id)
    if user is None:
        raise not_found("user")
    changed = structs.replace(user, **change.given())
    _check_slug(changed.slug)
    if store.slug_taken(tx, access, changed.slug, user.id):
        raise _taken(changed.slug)
    store.update_user(tx, access, changed)
    _append_updated(tx, access, user.id)
    tx.wake(access.revocation_bell)
    return changed


def remove_user(tx: Tx, access: Access, user_id: str) -> None:
    """Remove a user with their tokens and notifications."""
    if not store.delete_user(tx, access, user_id):
        raise not_found("user")
    forget_mailbox(tx, access, user_id)
    tx.publish(UserRemoved(access, user_id))
    _append_updated(tx, access, user_id)
    tx.wake(access.revocation_bell)


def _append_updated(tx: Tx, access: Access, user_id: str) -> None:
    # Without the name: some followers of the feed may not read the users.
    append_event(tx, access, "user.updated", About(), json_text({"id": user_id}))


def _check_slug(slug: str) -> None:
    if not is_agent_id(slug):
        message = "A slug must be 1 to 64 lower-case letters, digits, _ or -, starting with a letter or digit."
        raise invalid("slug", message)


def _taken(slug: str) -> Refusal:
    return Refusal(Code.CONFLICT, f"Another user of this account has the slug '{slug}'; choose another.", field="slug")
