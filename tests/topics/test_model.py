"""A topic as it is shown: a shape takes its fields from the value."""

from carrel.topics import TopicShape
from carrel.topics.model import Topic

TOPIC = Topic(
    id="topic-a", space_id="space-a", name="A", description="", status="active", snoozed_until=None, priority=3,
    tags=(), parent_id=None, pinned=False, color=None, sort_index=0, digest=None, digest_updated_at=None,
    merged_from=(), created_by="user", created_at=1_700_000_000_000, updated_at=0,
)  # fmt: skip


def test_a_moment_is_shown_as_text_and_another_number_as_it_is() -> None:
    shape = TopicShape.of(TOPIC)
    assert (shape.created_at, shape.snoozed_until, shape.priority) == ("2023-11-14T22:13:20.000Z", None, 3)


def test_a_field_that_is_given_is_not_taken_from_the_value() -> None:
    shape = TopicShape.of(TOPIC, name="other", created_at="then")
    assert (shape.id, shape.name, shape.created_at) == ("topic-a", "other", "then")
