"""What belongs to a run besides the run itself: attachments, artifacts and the record of its tool calls."""

from carrel.records.artifact_store import (
    REPLY_ARTIFACT,
    Artifact,
    ArtifactHead,
    artifact_heads,
    artifact_part,
    artifact_sizes,
    artifacts_of,
    insert_artifact,
)
from carrel.records.artifacts import ArtifactFields, ArtifactFile, artifact_files, run_of_artifact
from carrel.records.attachment_store import (
    Attachment,
    FileShape,
    attachment_heads,
    attachments_by_id,
    delete_attachments,
    insert_attachment,
    upload_of,
)
from carrel.records.call_store import (
    Call,
    call_of,
    count_refusal,
    finish_call,
    has_written,
    is_open,
    outside_call,
    record_call,
    refusals_of,
    tools_called,
    wrote_from_outside,
)
from carrel.records.uploads import attach, keep_file, prune_uploads, text_of, use_files

__all__ = [
    "REPLY_ARTIFACT", "Artifact", "ArtifactFields", "ArtifactFile", "ArtifactHead", "Attachment", "Call", "FileShape",
    "artifact_files", "artifact_heads", "artifact_part", "artifact_sizes", "artifacts_of", "attach", "attachment_heads",
    "attachments_by_id", "call_of", "count_refusal", "delete_attachments", "finish_call", "has_written",
    "insert_artifact", "insert_attachment", "is_open", "keep_file", "outside_call", "prune_uploads", "record_call",
    "refusals_of", "run_of_artifact", "text_of", "tools_called", "upload_of", "use_files", "wrote_from_outside",
]  # fmt: skip
