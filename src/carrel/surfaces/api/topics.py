"""Topics: what the board groups tasks and entries under."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.board import join_topics, split_topic
from carrel.kernel import PEOPLE, Access, Input, limits
from carrel.kernel.fields import Cursor, Name, ShortText
from carrel.storage import Tx
from carrel.surfaces.api.cursors import clamp, paged
from carrel.surfaces.api.endpoint import Call, NoQuery, Page, Reply, endpoint
from carrel.surfaces.api.scope import Scoped, scope_of
from carrel.surfaces.api.tasks.reads import ThreadQuery
from carrel.topics import (
    NewTopic,
    TopicChange,
    TopicFilter,
    TopicName,
    TopicShape,
    TopicStatus,
    change_topic,
    list_topics,
    put_topic,
    readable_topic,
    remove_topic,
    reorder_topics,
)
from carrel.work import Thread, read_thread


class TopicBody(NewTopic, frozen=True, kw_only=True):
    """A topic to be made or, where its id is known, changed; only the name is required."""

    created_by: Literal["user", "import"] = "user"


class TopicsQuery(Scoped, frozen=True, kw_only=True):
    """Which topics to list."""

    status: TopicStatus | None = None
    tag: Name | None = None
    pinned: bool | None = None
    limit: int | None = None
    cursor: Cursor | None = None


class TopicOrder(Input, frozen=True, kw_only=True):
    """Topics in their new order."""

    ordered_ids: Annotated[tuple[ShortText, ...], Meta(max_length=limits.TOPIC_LIST_ROWS_MAX)]


class TopicMerge(Input, frozen=True, kw_only=True):
    """Topics that are merged into another."""

    topic_ids: Annotated[tuple[ShortText, ...], Meta(min_length=1, max_length=limits.TOPIC_MERGES_KEPT)]


class TopicSplit(Input, frozen=True, kw_only=True):
    """Entries of a topic that get one of their own, and its name; by default it is named after the first of them."""

    entry_ids: Annotated[tuple[ShortText, ...], Meta(min_length=1, max_length=limits.CLASSIFIER_MERGED_ENTRIES_MAX)]
    name: TopicName | None = None


@endpoint("GET", "/api/topics", "topics", tool="clawboard_get_topic")
def list_all_topics(call: Call[None, TopicsQuery], tx: Tx, access: Access) -> Page[TopicShape]:
    """List the topics that the caller may see, in the order of the board."""
    query = call.query
    spaces = scope_of(tx, access, query, infers=True).allowed
    wanted = TopicFilter(status=query.status, tag=query.tag, pinned=query.pinned, spaces=spaces)
    page = paged(
        query, tuple[float, str], lambda after, most: list_topics(tx, access, wanted, after=after, limit=most),
        lambda topic: (topic.sort_index, topic.id), limits.TOPIC_LIST_ROWS_DEFAULT, limits.TOPIC_LIST_ROWS_MAX,
    )  # fmt: skip
    return page.shown(lambda topics: map(TopicShape.of, topics))


@endpoint("POST", "/api/topics", "topic", also=200, who=PEOPLE, creates=True)
def create_topic(call: Call[TopicBody, NoQuery], tx: Tx, access: Access) -> Reply[TopicShape]:
    """Make a topic, or change the one that has its id."""
    topic, is_new = put_topic(tx, access, call.body)
    return Reply(201 if is_new else 200, TopicShape.of(topic))


@endpoint("GET", "/api/topics/{id}", "topic", tool="clawboard_get_topic")
def read_topic(call: Call[None, NoQuery], tx: Tx, access: Access) -> TopicShape:
    """Get a topic."""
    return TopicShape.of(readable_topic(tx, access, call.path("id")))


@endpoint("PATCH", "/api/topics/{id}", "topic", who=PEOPLE)
def update_topic(call: Call[TopicChange, NoQuery], tx: Tx, access: Access) -> TopicShape:
    """Change a topic; when it moves to another space, its tasks and entries move with it."""
    return TopicShape.of(change_topic(tx, access, call.path("id"), call.body))


@endpoint("DELETE", "/api/topics/{id}", who=PEOPLE)
def delete_topic(call: Call[None, NoQuery], tx: Tx, access: Access) -> None:
    """Remove a topic; its tasks and entries stay, without one."""
    remove_topic(tx, access, call.path("id"))


@endpoint("POST", "/api/topics/reorder", who=PEOPLE)
def reorder_all_topics(call: Call[TopicOrder, NoQuery], tx: Tx, access: Access) -> None:
    """Put topics into an order, keeping their places among all others."""
    reorder_topics(tx, access, call.body.ordered_ids)


@endpoint("POST", "/api/topics/{id}/merge", "topic", who=PEOPLE)
def merge_into_topic(call: Call[TopicMerge, NoQuery], tx: Tx, access: Access) -> TopicShape:
    """Merge topics of the same space into this one: their entries move, and they are gone."""
    return TopicShape.of(join_topics(tx, access, call.path("id"), call.body.topic_ids))


@endpoint("POST", "/api/topics/{id}/split", "topic", who=PEOPLE, creates=True)
def split_from_topic(call: Call[TopicSplit, NoQuery], tx: Tx, access: Access) -> Reply[TopicShape]:
    """Move entries of a topic into a new one; the entries of an item of `mergedFrom` undo that merge."""
    return Reply(201, TopicShape.of(split_topic(tx, access, call.path("id"), call.body.entry_ids, call.body.name)))


@endpoint("GET", "/api/topics/{id}/thread", tool="clawboard_get_topic")
def read_topic_thread(call: Call[None, ThreadQuery], tx: Tx, access: Access) -> Thread:
    """Get the newest messages of a topic."""
    limit = clamp(call.query.limit, limits.THREAD_ROWS_DEFAULT, limits.THREAD_ROWS_MAX)
    return read_thread(tx, access, call.path("id"), of="topic", limit=limit, before=call.query.before)
