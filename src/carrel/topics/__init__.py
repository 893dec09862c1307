"""Topics: they group tasks and entries on the board, and decide in which spaces these are visible."""

from carrel.topics.location_store import (
    Departure,
    depart_with_task,
    departures_between,
    messages_of_topic,
    move_entries_of_task,
    set_task_digest,
    set_topic_of_entries,
)
from carrel.topics.model import (
    DEFAULT_PRIORITY,
    PRIORITIES,
    NewTopic,
    Topic,
    TopicChange,
    TopicFilter,
    TopicMoved,
    TopicShape,
    check_tags,
    read_priority,
    topic_shape,
)
from carrel.topics.store import list_topics, spaces_of_topic, topic_by_id, topics_by_id, topics_changed
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
    "DEFAULT_PRIORITY", "PRIORITIES", "Departure", "NewTopic", "Topic", "TopicChange", "TopicFilter",
    "TopicMoved", "TopicShape", "absorb_topic", "change_topic", "check_tags", "curate_topic", "depart_with_task",
    "departures_between", "first_space", "forget_merges",
    "list_topics", "messages_of_topic", "move_entries_of_task", "observe_spaces", "put_topic", "read_priority",
    "readable_topic", "remove_topic", "reorder_topics", "set_task_digest", "set_topic_digest", "set_topic_of_entries",
    "spaces_of_topic", "topic_by_id", "topic_shape", "topics_by_id", "topics_changed",
]  # fmt: skip
