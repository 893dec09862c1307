"""Spaces: the parts of an account's board, and which of them are visible from which."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs

from carrel.access import (
    NewSpace,
    Space,
    SpaceChange,
    SpaceShape,
    allowed_spaces,
    change_space,
    connect_spaces,
    every_space,
    make_space,
    readable_space,
    remove_space,
    space_shapes,
)
from carrel.kernel import Access, Input, Shape, iso
from carrel.kernel.fields import Name
from carrel.kernel.limits import SPACE_LIST_ROWS_MAX, SPACES_PER_ACCOUNT_MAX
from carrel.storage import LongTx, Tx
from carrel.surfaces.api.cursors import PageQuery, paged
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, Reply, endpoint


class Connections(Input, frozen=True, kw_only=True):
    """Which spaces are visible from one; those that are not named stay as they are."""

    connectivity: Annotated[dict[Name, bool], Meta(max_length=SPACES_PER_ACCOUNT_MAX)]
    default_visible: bool | UnsetType = UNSET


class SourceQuery(Input, frozen=True, kw_only=True):
    """The space to look from."""

    space_id: Name


class AllowedSpaces(Shape, frozen=True, kw_only=True):
    """What is visible from a space, itself first."""

    space_id: str
    allowed_space_ids: list[str]


def _shown(tx: Tx, access: Access, space: Space) -> SpaceShape:
    return space_shapes(tx, access, [space])[0]


@endpoint("GET", "/api/spaces", "spaces")
def list_spaces(call: Call[None, PageQuery], tx: LongTx, access: Access) -> Page[SpaceShape]:
    """List the spaces that the caller may see, oldest first."""
    spaces = every_space(tx, access)

    def read(after: tuple[str, str] | None, most: int) -> list[SpaceShape]:
        left = [space for space in spaces if after is None or (iso(space.created_at) or "", space.id) > after]
        return space_shapes(tx, access, left[:most])

    return paged(
        call.query, tuple[str, str], read, lambda space: (space.created_at, space.id),
        SPACE_LIST_ROWS_MAX, SPACE_LIST_ROWS_MAX,
    )  # fmt: skip


@endpoint("POST", "/api/spaces", "space", also=200, who=OWNER, creates=True)
def create_space(call: Call[NewSpace, NoQuery], tx: Tx, access: Access) -> Reply[SpaceShape]:
    """Make a space and connect it with the others; an existing one is changed."""
    new = structs.asdict(call.body)
    space, is_new = make_space(tx, access, new.pop("name"), space_id=new.pop("id"), **new)
    return Reply(201 if is_new else 200, _shown(tx, access, space))


@endpoint("PATCH", "/api/spaces/{id}", "space", who=OWNER)
def update_space(call: Call[SpaceChange, NoQuery], tx: Tx, access: Access) -> SpaceShape:
    """Change a space; its connections stay as they are."""
    return _shown(tx, access, change_space(tx, access, call.path("id"), call.body))


@endpoint("PATCH", "/api/spaces/{id}/connectivity", "space", who=OWNER)
def update_connectivity(call: Call[Connections, NoQuery], tx: Tx, access: Access) -> SpaceShape:
    """Set which spaces are visible from one."""
    change = SpaceChange(default_visible=call.body.default_visible)
    return _shown(tx, access, connect_spaces(tx, access, call.path("id"), call.body.connectivity, change))


@endpoint("GET", "/api/spaces/allowed")
def read_allowed(call: Call[None, SourceQuery], tx: Tx, access: Access) -> AllowedSpaces:
    """List what is visible from a space, itself first."""
    space = readable_space(tx, access, call.query.space_id)
    return AllowedSpaces(space_id=space.id, allowed_space_ids=list(allowed_spaces(tx, access, space.id)))


@endpoint("DELETE", "/api/spaces/{id}", who=OWNER)
def delete_space(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Remove a space; everything in it moves to the default space."""
    remove_space(tx, access, call.path("id"))
