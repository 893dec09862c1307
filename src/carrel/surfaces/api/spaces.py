"""Spaces: the parts of an account's board, and which of them are visible from which."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from carrel.access import (
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
from carrel.kernel import Access
from carrel.kernel.limits import NAME_CHARS_MAX, SPACE_ID_CHARS_MAX, SPACES_PER_ACCOUNT_MAX
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.api.scope import SpaceName
from carrel.surfaces.http.described import NO_NUL, SOME_TEXT

# The room below checks these, with codes and sentences of its own; the document says what it accepts.
Name = Annotated[str, Meta(extra_json_schema={"pattern": SOME_TEXT, "maxLength": NAME_CHARS_MAX})]
NewId = Annotated[
    str, Meta(extra_json_schema={"pattern": "^space-[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": SPACE_ID_CHARS_MAX})
]
Color = Annotated[str, Meta(max_length=NAME_CHARS_MAX, extra_json_schema={"pattern": NO_NUL})]


class SpaceBody(In, frozen=True, kw_only=True):
    """A new space; without an id it follows from the name."""

    name: Name
    id: NewId | None = None
    color: Color | None = None
    default_visible: bool = True


class SpacePatch(In, frozen=True, kw_only=True):
    """Changes of a space; fields left out stay as they are."""

    name: Name | UnsetType = UNSET
    color: Color | UnsetType | None = UNSET
    default_visible: bool | UnsetType = UNSET


class Connections(In, frozen=True, kw_only=True):
    """Which spaces are visible from one; those that are not named stay as they are."""

    connectivity: Annotated[dict[SpaceName, bool], Meta(max_length=SPACES_PER_ACCOUNT_MAX)]
    default_visible: bool | UnsetType = UNSET


class Spaces(Out, frozen=True, kw_only=True):
    """The spaces that the caller may see, oldest first."""

    spaces: list[SpaceShape]


class OneSpace(Out, frozen=True, kw_only=True):
    """One space."""

    space: SpaceShape


class SourceQuery(In, frozen=True, kw_only=True):
    """The space to look from."""

    space_id: SpaceName


class AllowedSpaces(Out, frozen=True, kw_only=True):
    """What is visible from a space, itself first."""

    space_id: str
    allowed_space_ids: list[str]


def _shown(tx: Tx, access: Access, space: Space) -> OneSpace:
    return OneSpace(space=space_shapes(tx, access, [space])[0])


@endpoint("GET", "/api/spaces", answers={200: Spaces})
async def list_spaces(call: Call[None, NoQuery]) -> Spaces:
    """List the spaces that the caller may see."""
    return await call.read(lambda tx, access: Spaces(spaces=space_shapes(tx, access, every_space(tx, access))))


@endpoint("POST", "/api/spaces", answers={201: OneSpace, 200: OneSpace}, who=OWNER, body=SpaceBody, creates=True)
async def create_space(call: Call[SpaceBody, NoQuery]) -> Reply:
    """Make a space and connect it with the others; an existing one is changed."""
    body = call.body

    def work(tx: Tx, access: Access) -> Reply:
        space, is_new = make_space(
            tx, access, body.name, space_id=body.id, color=body.color, default_visible=body.default_visible
        )
        return call.promise(tx, Reply(201 if is_new else 200, _shown(tx, access, space)))

    return await call.write(work)


@endpoint("PATCH", "/api/spaces/{id}", answers={200: OneSpace}, who=OWNER, body=SpacePatch)
async def update_space(call: Call[SpacePatch, NoQuery]) -> OneSpace:
    """Change a space; its connections stay as they are."""
    patch = call.body
    change = SpaceChange(name=patch.name, color=patch.color, default_visible=patch.default_visible)
    return await call.write(
        lambda tx, access: _shown(tx, access, change_space(tx, access, call.path("id"), change))
    )  # fmt: skip


@endpoint("PATCH", "/api/spaces/{id}/connectivity", answers={200: OneSpace}, who=OWNER, body=Connections)
async def update_connectivity(call: Call[Connections, NoQuery]) -> OneSpace:
    """Set which spaces are visible from one."""
    change = SpaceChange(default_visible=call.body.default_visible)

    def work(tx: Tx, access: Access) -> OneSpace:
        return _shown(tx, access, connect_spaces(tx, access, call.path("id"), call.body.connectivity, change))

    return await call.write(work)


@endpoint("GET", "/api/spaces/allowed", answers={200: AllowedSpaces}, query=SourceQuery)
async def read_allowed(call: Call[None, SourceQuery]) -> AllowedSpaces:
    """List what is visible from a space, itself first."""

    def work(tx: Tx, access: Access) -> AllowedSpaces:
        space = readable_space(tx, access, call.query.space_id)
        return AllowedSpaces(space_id=space.id, allowed_space_ids=list(allowed_spaces(tx, access, space.id)))

    return await call.read(work)


@endpoint("DELETE", "/api/spaces/{id}", answers={204: None}, who=OWNER)
async def delete_space(call: Call[None, NoQuery]) -> None:
    """Remove a space; everything in it moves to the default space."""
    await call.write(lambda tx, access: remove_space(tx, access, call.path("id")))
