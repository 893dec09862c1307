"""Topics: what the board groups tasks and entries under."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, structs

from carrel.kernel import PEOPLE, Access, Grammar
from carrel.kernel.limits import (
    NAME_CHARS_MAX,
    TASK_TAG_CHARS_MAX,
    TASK_TAGS_MAX,
    THREAD_ROWS_DEFAULT,
    THREAD_ROWS_MAX,
    TOPIC_DESCRIPTION_CHARS_MAX,
    TOPIC_LIST_ROWS_DEFAULT,
    TOPIC_LIST_ROWS_MAX,
    TOPIC_NAME_CHARS_MAX,
)
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, cut, read_cursor, read_moment
from carrel.surfaces.api.endpoint import Call, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.api.fields import Cursor, Moment
from carrel.surfaces.api.scope import Scoped, SpaceName, scope_of
from carrel.surfaces.api.tasks.bodies import Priority
from carrel.surfaces.api.tasks.reads import ThreadQuery
from carrel.surfaces.http.described import NO_NUL, SOME_TEXT
from carrel.topics import (
    NewTopic,
    TopicChange,
    TopicFilter,
    TopicShape,
    change_topic,
    list_topics,
    put_topic,
    readable_topic,
    remove_topic,
    reorder_topics,
    topic_shape,
)
from carrel.work import Thread, read_thread


def _up_to(chars_max: int) -> Meta:
    return Meta(extra_json_schema={"maxLength": chars_max, "pattern": NO_NUL})


# The room below checks these, with codes and sentences of its own; the document says what it accepts.
TopicId = Annotated[str, Meta(extra_json_schema={"pattern": f"^{Grammar.CLIENT_ID}$"})]
TopicName = Annotated[str, Meta(extra_json_schema={"pattern": SOME_TEXT, "maxLength": TOPIC_NAME_CHARS_MAX})]
Description = Annotated[str, _up_to(TOPIC_DESCRIPTION_CHARS_MAX)]
Status = Literal["active", "snoozed", "archived"]
Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Tags = Annotated[
    tuple[Annotated[str, _up_to(TASK_TAG_CHARS_MAX)], ...], Meta(extra_json_schema={"maxItems": TASK_TAGS_MAX})
]


class TopicPatch(In, frozen=True, kw_only=True):
    """Changes of a topic; fields left out stay as they are. Tags replace what was there."""

    name: TopicName | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    snoozed_until: Moment | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    space_id: SpaceName | UnsetType = UNSET
    parent_id: Name | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    color: Name | UnsetType | None = UNSET
    sort_index: float | UnsetType = UNSET


class TopicBody(TopicPatch, frozen=True, kw_only=True):
    """A topic to be made or, where its id is known, changed; only the name is required."""

    name: TopicName
    id: TopicId | None = None
    created_by: Literal["user", "import"] = "user"


class TopicsQuery(Scoped, frozen=True, kw_only=True):
    """Which topics to list."""

    status: Status | None = None
    tag: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)] | None = None
    pinned: bool | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class TopicList(Out, frozen=True, kw_only=True):
    """A page of topics, in the order of the board."""

    topics: list[TopicShape]
    next_cursor: str | None


class OneTopic(Out, frozen=True, kw_only=True):
    """One topic."""

    topic: TopicShape


class TopicOrder(In, frozen=True, kw_only=True):
    """Topics in their new order."""

    ordered_ids: Annotated[tuple[Name, ...], Meta(max_length=TOPIC_LIST_ROWS_MAX)]


@endpoint("GET", "/api/topics", answers={200: TopicList}, query=TopicsQuery)
async def list_all_topics(call: Call[None, TopicsQuery]) -> TopicList:
    """List the topics that the caller may see, in the order of the board."""
    query = call.query
    limit = clamp(query.limit, TOPIC_LIST_ROWS_DEFAULT, TOPIC_LIST_ROWS_MAX)
    after = read_cursor(query.cursor, tuple[float, str])

    def work(tx: Tx, access: Access) -> TopicList:
        spaces = scope_of(tx, access, query, infers=True).allowed
        wanted = TopicFilter(status=query.status, tag=query.tag, pinned=query.pinned, spaces=spaces)
        found = list_topics(tx, access, wanted, after=after, limit=limit + 1)
        page, following = cut(found, limit, lambda topic: (topic.sort_index, topic.id))
        return TopicList(topics=[topic_shape(topic) for topic in page], next_cursor=following)

    return await call.read(work)


@endpoint("POST", "/api/topics", answers={201: OneTopic, 200: OneTopic}, who=PEOPLE, body=TopicBody, creates=True)
async def create_topic(call: Call[TopicBody, NoQuery]) -> Reply:
    """Make a topic, or change the one that has its id."""
    new = NewTopic(**_read(call.body))

    def work(tx: Tx, access: Access) -> Reply:
        topic, is_new = put_topic(tx, access, new)
        return call.promise(tx, Reply(201 if is_new else 200, OneTopic(topic=topic_shape(topic))))

    return await call.write(work)


@endpoint("GET", "/api/topics/{id}", answers={200: OneTopic})
async def read_topic(call: Call[None, NoQuery]) -> OneTopic:
    """Get a topic."""
    topic = await call.read(lambda tx, access: readable_topic(tx, access, call.path("id")))
    return OneTopic(topic=topic_shape(topic))


@endpoint("PATCH", "/api/topics/{id}", answers={200: OneTopic}, who=PEOPLE, body=TopicPatch)
async def update_topic(call: Call[TopicPatch, NoQuery]) -> OneTopic:
    """Change a topic; when it moves to another space, its tasks and entries move with it."""
    change = TopicChange(**_read(call.body))
    topic = await call.write(lambda tx, access: change_topic(tx, access, call.path("id"), change))
    return OneTopic(topic=topic_shape(topic))


@endpoint("DELETE", "/api/topics/{id}", answers={204: None}, who=PEOPLE)
async def delete_topic(call: Call[None, NoQuery]) -> None:
    """Remove a topic; its tasks and entries stay, without one."""
    await call.write(lambda tx, access: remove_topic(tx, access, call.path("id")))


@endpoint("POST", "/api/topics/reorder", answers={204: None}, who=PEOPLE, body=TopicOrder)
async def reorder_all_topics(call: Call[TopicOrder, NoQuery]) -> None:
    """Put topics into an order, keeping their places among all others."""
    await call.write(lambda tx, access: reorder_topics(tx, access, call.body.ordered_ids))


@endpoint("GET", "/api/topics/{id}/thread", answers={200: Thread}, query=ThreadQuery)
async def read_topic_thread(call: Call[None, ThreadQuery]) -> Thread:
    """Get the newest messages of a topic."""
    limit = clamp(call.query.limit, THREAD_ROWS_DEFAULT, THREAD_ROWS_MAX)
    return await call.read(
        lambda tx, access: read_thread(tx, access, call.path("id"), of="topic", limit=limit, before=call.query.before)
    )


def _read(body: TopicPatch) -> dict[str, Any]:
    """Return the fields of a body as the room below spells them."""
    fields = structs.asdict(body)
    if isinstance(body.snoozed_until, str):
        fields["snoozed_until"] = read_moment("snoozedUntil", body.snoozed_until)
    return fields
