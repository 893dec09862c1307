"""Topics: they group tasks and entries on the board, and decide in which spaces these are visible."""

from carrel.topics.model import (
    DEFAULT_PRIORITY,
    PRIORITIES,
    NewTopic,
    Priority,
    Tags,
    Topic,
    TopicChange,
    TopicFilter,
    TopicMoved,
    TopicName,
    TopicShape,
    TopicStatus,
    check_length,
    check_tags,
    read_priority,
)
from carrel.topics.store import (
    Departure,
    depart_from_topics,
    depart_with_task,
    departures_between,
    list_topics,
    messages_of_topic,
    move_entries,
    set_task_digest,
    set_topic_of_entries,
    spaces_of_topic,
    topic_by_id,
    topics_by_id,
    topics_changed,
)
from carrel.topics.topics import (
    absorb_topic,
    change_topic,
    curate_topic,
    first_space,
    forget_merges,
    observe_spaces,
    put_topic,
    readable_topic,
    remove_topic,
    reorder_topics,
    set_topic_digest,
)

__all__ = [
    "DEFAULT_PRIORITY", "PRIORITIES", "Departure", "NewTopic", "Priority", "Tags", "Topic", "TopicChange",
    "TopicFilter", "TopicMoved", "TopicName", "TopicShape", "TopicStatus", "absorb_topic", "change_topic",
    "check_length", "check_tags", "curate_topic", "depart_from_topics", "depart_with_task", "departures_between",
    "first_space", "forget_merges", "list_topics", "messages_of_topic", "move_entries", "observe_spaces", "put_topic",
    "read_priority", "readable_topic", "remove_topic", "reorder_topics", "set_task_digest", "set_topic_digest",
    "set_topic_of_entries", "spaces_of_topic", "topic_by_id", "topics_by_id", "topics_changed",
]  # fmt: skip
