"""Values that every room uses: ids, keys, access, messages, errors, limits, settings, clock, text. No I/O."""

from carrel.kernel.access import DEFAULT_ACCOUNT_SLUG, PEOPLE, Access, Kind, ToolVisibility, system_access
from carrel.kernel.clock import (
    MS_PER_DAY,
    MS_PER_HOUR,
    MS_PER_MINUTE,
    MS_PER_SECOND,
    Clock,
    SystemClock,
    elapsed_seconds,
    iso,
    minute_of,
    parse_iso,
)
from carrel.kernel.echoes import Echoes
from carrel.kernel.errors import Code, Refusal, invalid, log_trouble, not_found
from carrel.kernel.event_stream import EventReader, EventTooLarge, ServerEvent
from carrel.kernel.hosts import is_loopback
from carrel.kernel.ids import (
    Chance,
    Ids,
    caller_hash,
    first_id,
    is_uuid_of,
    new_secret,
    secret_digest,
    system_chance,
    text_hash,
    uuid_for,
)
from carrel.kernel.keys import Grammar, SessionKey, is_agent_id, is_conversation_key, key_text
from carrel.kernel.messages import (
    AT_WORK,
    INTERNAL_CHANNEL,
    SCOPE_END,
    Envelope,
    Message,
    NewAttachment,
    Provenance,
    StoredStep,
    TurnExtras,
    check_message,
)
from carrel.kernel.metrics import METRICS, Sample
from carrel.kernel.secret_filter import REDACTED, redact
from carrel.kernel.secret_source import secret_from
from carrel.kernel.shapes import Input, Shape, Usage, When
from carrel.kernel.templates import Template, template_problem, text_at
from carrel.kernel.text import TextBuffer, clip, is_control_text, one_line, plain_word
from carrel.kernel.validation import decode_json, read_moment, wrong_value

__all__ = [
    "AT_WORK", "DEFAULT_ACCOUNT_SLUG", "INTERNAL_CHANNEL", "METRICS", "MS_PER_DAY", "MS_PER_HOUR", "MS_PER_MINUTE",
    "MS_PER_SECOND", "PEOPLE", "REDACTED", "SCOPE_END", "Access", "Chance", "Clock", "Code", "Echoes", "Envelope",
    "EventReader", "EventTooLarge", "Grammar", "Ids", "Input", "Kind", "Message", "NewAttachment", "Provenance",
    "Refusal", "Sample", "ServerEvent", "SessionKey", "Shape", "StoredStep", "SystemClock", "Template", "TextBuffer",
    "ToolVisibility", "TurnExtras", "Usage", "When", "caller_hash", "check_message", "clip", "decode_json",
    "elapsed_seconds", "first_id", "invalid", "is_agent_id", "is_control_text", "is_conversation_key", "is_loopback",
    "is_uuid_of", "iso", "key_text", "log_trouble", "minute_of", "new_secret", "not_found", "one_line", "parse_iso",
    "plain_word", "read_moment", "redact", "secret_digest", "secret_from", "system_access", "system_chance",
    "template_problem", "text_at", "text_hash", "uuid_for", "wrong_value",
]  # fmt: skip
