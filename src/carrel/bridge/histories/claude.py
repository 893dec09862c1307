"""The transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`."""

from collections.abc import Iterator
from pathlib import Path

from carrel.bridge.histories.model import Entry, PastMessage, Skipped, json_lines, moment, require_folder, words

CHANNEL = "claude"
# What Claude Code writes in a person's name: commands, their output, and remarks to the model.
_NOT_SAID = ("<command-", "<local-command-", "<system-reminder>", "<task-notification>", "Caveat: The messages below")


def read_claude(home: Path, skipped: Skipped) -> Iterator[Entry]:
    """Yield what people and Claude said, session by session; tools and sub-agents are left out."""
    require_folder(home / "projects", "Claude Code")
    for path in sorted((home / "projects").glob("*/*.jsonl")):
        for line in json_lines(path, skipped):
            role = line.get("type")
            message = line.get("message")
            if role not in ("user", "assistant") or not isinstance(message, dict):
                continue
            text = words(message.get("content")).strip()
            unsaid = ""
            if line.get("isSidechain") or line.get("isMeta"):
                unsaid = "sub-agents and remarks"
            elif line.get("isCompactSummary"):
                # Claude wrote it for itself, in the person's name; what it sums up is in the transcript.
                unsaid = "summaries of earlier messages"
            elif not text or (role == "user" and text.startswith(_NOT_SAID)):
                unsaid = "tools and commands"
            if unsaid:
                skipped[unsaid] += 1
                continue
            said = PastMessage(
                channel=CHANNEL,
                session=str(line.get("sessionId") or path.stem),
                message_id=str(line.get("uuid") or f"{path.stem}:{line.get('timestamp')}"),
                at=moment(line.get("timestamp")),
                agent=CHANNEL if role == "assistant" else None,
                text=text,
            )
            if (entry := said.entry(skipped)) is not None:
                yield entry
