"""Spaces: the parts of an account's board, which of them see each other, and which a read covers."""

import unicodedata
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from carrel.access import space_store
from carrel.access.model import Space, SpaceChange, SpaceShape
from carrel.access.store import hold_account
from carrel.journal import DEFAULT_SPACE, About, append_event, json_text
from carrel.kernel import Access, Code, Refusal, invalid
from carrel.kernel.limits import NAME_CHARS_MAX, SPACE_ID_CHARS_MAX, SPACES_PER_ACCOUNT_MAX
from carrel.storage import Tx

# Who may create spaces.
_MAKERS = ("owner", "system")
# Labels that all mean the default space.
_DEFAULT_LABELS = ("default", "global", "all", "all-spaces")

ResolvedFrom = Literal["spaceId", "boardKey", "entries", "routing"]


class SpaceScope(Struct, frozen=True, kw_only=True):
    """The spaces that a read covers: where it looks from, how that was determined, and what is visible there."""

    source: str | None = None
    resolved_from: ResolvedFrom | None = None
    # None if the read covers everything and the caller may see everything.
    allowed: tuple[str, ...] | None = None

    def narrowed_for(self, access: Access) -> tuple[str, ...] | None:
        """The spaces to which the read is narrowed; None for all that the caller may see."""
        return None if self.source is None and self.allowed == access.space_ids else self.allowed


class SpaceRemoved(Struct, frozen=True):
    """A space is about to be removed; its contents must move to the default space in this transaction."""

    access: Access
    space_id: str


def make_space(
    tx: Tx, access: Access, name: str, *, space_id: str | None = None, color: str | None = None,
    default_visible: bool = True,
) -> tuple[Space, bool]:  # fmt: skip
    """Create a space and connect it with the others; return it, and False if it existed and was only changed."""
    _check_name(name)
    if space_id is not None and not _is_id(space_id):
        raise invalid("id", "The id of a space is `space-` and lower-case letters and digits, joined by hyphens.")
    wanted = space_id or space_id_of(name) or f"space-{tx.new_id('space').removeprefix('space_')}"
    # Two spaces that are created at once must both see each other here.
    hold_account(tx, access)
    if (known := space_store.space_by_id(tx, access, wanted)) is not None:
        return change_space(tx, access, wanted, SpaceChange(name=name, color=color or known.color)), False
    if len(space_store.all_spaces(tx, access)) >= SPACES_PER_ACCOUNT_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"An account has at most {SPACES_PER_ACCOUNT_MAX} spaces; remove one first.")
    space = Space(
        id=wanted, name=name, color=color, default_visible=default_visible, created_at=tx.now, updated_at=tx.now,
        seq=tx.tick(),
    )  # fmt: skip
    space_store.insert_space(tx, access, space)
    space_store.seed_edges(tx, access, space.id)
    _publish(tx, access, "space.created", space)
    return space, True


def change_space(tx: Tx, access: Access, space_id: str, change: SpaceChange) -> Space:
    """Change fields of a space; changing `default_visible` changes no edge."""
    space = readable_space(tx, access, space_id)
    given = change.given()
    _check_name(given.get("name", space.name))
    if all(getattr(space, name) == value for name, value in given.items()):
        return space
    return _save(tx, access, structs.replace(space, **given))


def connect_spaces(
    tx: Tx, access: Access, space_id: str, connectivity: dict[str, bool], change: SpaceChange | None = None
) -> Space:  # fmt: skip
    """Set which spaces are visible from one; unnamed ones stay as they are."""
    space = change_space(tx, access, space_id, change or SpaceChange())
    known = {other.id for other in space_store.all_spaces(tx, access)}
    for target in connectivity:
        if target not in known:
            raise Refusal.of_name(f"connectivity.{target[:80]}", "space", target, known)
    present = space_store.edges_of(tx, access, space_id)
    # A space always sees itself.
    different = {
        target: visible
        for target, visible in connectivity.items()
        if target != space_id and present.get(target) is not visible
    }
    for target, visible in different.items():
        space_store.set_edge(tx, access, space_id, target, visible=visible)
    return _save(tx, access, space) if different else space


def remove_space(tx: Tx, access: Access, space_id: str) -> None:
    """Remove a space; everything in it moves to the default space."""
    if space_id == DEFAULT_SPACE:
        message = "The default space cannot be removed: it holds everything that is in no other."
        raise Refusal(Code.LIMIT_REACHED, message)
    hold_account(tx, access)
    shape = space_shapes(tx, access, [readable_space(tx, access, space_id)])[0]
    tx.publish(SpaceRemoved(access, space_id))
    space_store.delete_space(tx, access, space_id)
    append_event(tx, access, "space.deleted", About(space_id=space_id), json_text({"space": shape}))


def readable_space(tx: Tx, access: Access, space_id: str, *, field: str | None = None) -> Space:
    """Return a space that the caller may see; otherwise refuse as not found, or as an invalid `field`."""
    space = space_store.space_by_id(tx, access, space_id)
    if space is None or not access.covers([space_id]):
        known = [one.id for one in every_space(tx, access)]
        code = Code.NOT_FOUND if field is None else Code.INVALID_PARAMS
        raise Refusal.of_name(field, "space", space_id, known, code=code)
    return space


def every_space(tx: Tx, access: Access) -> list[Space]:
    """Return the spaces that the caller may see, oldest first."""
    return [space for space in space_store.all_spaces(tx, access) if access.covers([space.id])]


def allowed_spaces(tx: Tx, access: Access, space_id: str) -> tuple[str, ...]:
    """Return what is visible from a space, itself first, within what the caller may see."""
    seen = (target for target, visible in space_store.edges_of(tx, access, space_id).items() if visible)
    return access.narrowed((space_id, *seen))


def effective_spaces(
    tx: Tx, access: Access, *, space_id: str | None = None, allowed_ids: tuple[str, ...] | None = None,
    inferred: tuple[str, ResolvedFrom] | None = None,
) -> SpaceScope:  # fmt: skip
    """Return the spaces of a read: a given space wins over the inferred one; `allowed_ids` only narrows.

    With neither, the read covers all that the caller may see.
    """
    source, resolved_from = (space_id, "spaceId") if space_id else inferred or (None, None)
    allowed = access.space_ids if source is None else allowed_spaces(tx, access, source)
    if allowed_ids is not None:
        allowed = structs.replace(access, space_ids=allowed).narrowed(allowed_ids)
    return SpaceScope(
        source=source,
        resolved_from=resolved_from,  # type: ignore[arg-type]
        allowed=None if "*" in allowed else allowed,
    )


def ensure_spaces(tx: Tx, access: Access, names: Mapping[str, str]) -> tuple[str, ...]:
    """Create the missing ones of these spaces, each with its name; return the ids of all of them, in order.

    Only owners create spaces. For anybody else, missing and hidden ones are left out.
    """
    if access.kind not in _MAKERS:
        return tuple(space.id for space in every_space(tx, access) if space.id in names)
    for space_id, name in names.items():
        if space_store.space_by_id(tx, access, space_id) is None:
            make_space(tx, access, name[:NAME_CHARS_MAX], space_id=space_id)
    return tuple(names)


def space_shapes(tx: Tx, access: Access, spaces: list[Space]) -> list[SpaceShape]:
    """Return spaces as surfaces show them, with edges to spaces that the caller may see."""
    return [_shape(space, space_store.edges_of(tx, access, space.id), access) for space in spaces]


def _shape(space: Space, edges: dict[str, bool], access: Access) -> SpaceShape:
    return SpaceShape.of(space, connectivity={target: edges[target] for target in access.narrowed(tuple(edges))})


def space_id_of(label: str) -> str | None:
    """Return the id of the space that a label names; None for a label without letters and digits."""
    slug = _slug(label)
    if slug in _DEFAULT_LABELS:
        return DEFAULT_SPACE
    return f"space-{slug}"[:SPACE_ID_CHARS_MAX].rstrip("-") if slug else None


def _is_id(text: str) -> bool:
    return len(text) <= SPACE_ID_CHARS_MAX and text.startswith("space-") and text == _slug(text)


def _slug(text: str) -> str:
    """Return the letters and digits of a text, of any script, in lower case and joined by hyphens."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return "-".join("".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in plain).split())


def _check_name(name: str) -> None:
    if not name.strip():
        raise invalid("name", "A space needs a name.")
    if len(name) > NAME_CHARS_MAX:
        raise Refusal(Code.TOO_LONG, f"The name of a space has at most {NAME_CHARS_MAX} characters.", field="name")


def _save(tx: Tx, access: Access, space: Space) -> Space:
    changed = structs.replace(space, seq=tx.tick(), updated_at=tx.now)
    space_store.update_space(tx, access, changed)
    _publish(tx, access, "space.updated", changed)
    return changed


def _publish(tx: Tx, access: Access, name: str, space: Space) -> None:
    # Everybody who may see the space gets the event, so it must not depend on what the writer may see.
    shape = _shape(space, space_store.edges_of(tx, access, space.id), structs.replace(access, space_ids=("*",)))
    append_event(tx, access, name, About(space_id=space.id), json_text({"space": shape}))
