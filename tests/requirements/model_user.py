"""What a model is sent, which reads it as a person reads a page."""

BUILT = {
    "A.stalled": "A Task in progress with no run waiting is taken up again after 1, 5, 15 and 60 min, then shown to a "
    "person as stalled.",
    "A.tools.memory": "Tool calls and results of earlier runs of a generation are in later requests, bounded.",
    "A.when": "Every recalled, thread and history line has its date and author; the current time is given.",
    "A.topic.names": "No topic is named by a greeting, thanks or a first name; similar small topics of a space merge.",
    "A.files": "Files of a message or thread reach the model as parts or by `file_read`.",
}

PARTIAL: dict[str, str] = {}

DEFERRED: dict[str, dict[str, str]] = {}
