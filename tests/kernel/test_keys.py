"""Session keys: one grammar, and what only looks like a key is refused."""

import pytest

from carrel.kernel import (
    Code,
    Refusal,
    SessionKey,
    caller_hash,
    is_agent_id,
    is_conversation_key,
    key_text,
)
from tests.requirements.mark import requirement

UUID = "0b0e7a4e-98ab-4f0e-8f7e-1f5d4a0b6c11"
HASH = "0123456789ab"

FORMS = {
    "main": ("main", "main", ("main", "main"), "main"),
    "task:task_1": ("task", "other", ("task", "task_1"), "task:task_1"),
    "topic:topic_1": ("topic", "other", ("topic", "topic_1"), "topic:topic_1"),
    f"a2a:{HASH}:ctx-1": ("a2a", "other", ("a2a", f"{HASH}:ctx-1"), f"a2a:{HASH}:ctx-1"),
    "web:abcdefgh": ("chat", "other", ("web", "abcdefgh"), "abcdefgh"),
    "telegram:a": ("chat", "other", ("telegram", "a"), "a"),
    "cli:today-01": ("chat", "other", ("cli", "today-01"), "today-01"),
    "slack:group:C42": ("group", "group", ("slack", "group:C42"), "slack:group:C42"),
    "discord:channel:77": ("channel", "group", ("discord", "channel:77"), "discord:channel:77"),
    "telegram:direct:peer": ("direct", "other", ("telegram", "direct:peer"), "telegram:direct:peer"),
    "slack:group:C42:thread:9.1": ("group", "group", ("slack", "group:C42:thread:9.1"), "slack:group:C42:thread:9.1"),
    "slack:channel:C:thread:1": ("channel", "group", ("slack", "channel:C:thread:1"), "slack:channel:C:thread:1"),
    "slack:direct:U:thread:1": ("direct", "other", ("slack", "direct:U:thread:1"), "slack:direct:U:thread:1"),
    "cron:nightly": ("cron", "cron", ("cron", "nightly"), "cron:nightly"),
    f"hook:{UUID}": ("hook", "hook", ("hook", UUID), f"hook:{UUID}"),
    "node-kitchen": ("node", "node", ("node", "kitchen"), "node-kitchen"),
    f"subagent:{UUID}": ("subagent", "other", ("subagent", UUID), f"subagent:{UUID}"),
    f"openresponses:{UUID}": ("openresponses", "other", ("openresponses", UUID), f"openresponses:{UUID}"),
    f"openresponses-user:{HASH}:bob": (
        "openresponses-user",
        "other",
        ("openresponses-user", f"{HASH}:bob"),
        f"openresponses-user:{HASH}:bob",
    ),
}


@requirement("S2.key.group", "S2.key.internal", "S3.id.identity", "S3.id.lanes")
@pytest.mark.parametrize(("rest", "meaning"), FORMS.items(), ids=FORMS.keys())
def test_every_form_of_a_key_parses_and_formats_back(rest: str, meaning: tuple[object, ...]) -> None:
    key = SessionKey.parse(f"agent:writer:{rest}")
    assert (key.agent, key.rest) == ("writer", rest)
    assert (key.kind, key.listed_kind, key.identity, key.conversation) == meaning
    assert str(key) == f"agent:writer:{rest}"
    assert SessionKey.stored(str(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "main",
        "agent:writer",
        "agent:writer:",
        "agent::main",
        "Agent:writer:main",
        "agent:Writer:main",
        "agent:wri ter:main",
        "agent:-writer:main",
        f"agent:{'a' * 65}:main",
        "agent:writer:Main",
        "agent:writer:task:",
        "agent:writer:task:a:b",
        "agent:writer:task:a b",
        "agent:writer:task:a\n",
        "agent:writer:a2a:short:ctx",
        f"agent:writer:a2a:{HASH.upper()}:ctx",
        "agent:writer:sms:abcdefgh",
        "agent:writer:web:abc.defgh",
        f"agent:writer:web:{'a' * 65}",
        "agent:writer:slack:room:1",
        "agent:writer:slack:group:1:thread:",
        f"agent:writer:cron:{'a' * 129}",
        "agent:writer:node-",
        "agent:writer:main:v2",
    ],
)
def test_what_is_not_a_key_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        SessionKey.parse(text)
    assert (caught.value.code, caught.value.field) == (Code.INVALID_PARAMS, "sessionKey")


@requirement("S2.key.reserved")
@pytest.mark.parametrize("name", ["global", "unknown"])
def test_reserved_names_cannot_name_sessions(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        SessionKey.of("main", name)
    assert caught.value.code == Code.RESERVED_SESSION_KEY


def test_a_key_knows_its_task_topic_channel_and_chat_type() -> None:
    seen = {rest: SessionKey.of("main", rest) for rest in FORMS}
    assert {rest for rest, key in seen.items() if key.task_id} == {"task:task_1"}
    assert seen["task:task_1"].task_id == "task_1"
    assert {rest for rest, key in seen.items() if key.topic_id} == {"topic:topic_1"}
    assert {key.channel for key in seen.values()} == {None, "web", "telegram", "cli", "slack", "discord"}
    assert {key.chat_type for key in seen.values()} == {"direct", "group", "channel"}
    assert seen["main"].chat_type == "direct"


@requirement("S3.id.newkey", "S3.id.legacy")
@pytest.mark.parametrize(
    ("text", "new", "old"),
    [
        ("abcdefgh", True, True),
        ("a" * 64, True, True),
        ("A_b-c_9-", True, True),
        ("abcdefg", False, True),
        ("a", False, True),
        ("ses_abcdefgh", False, True),
        ("a" * 65, False, False),
        ("", False, False),
        ("with.dots", False, False),
        ("with space", False, False),
        ("abcdefgh\n", False, False),
    ],
)
def test_a_new_conversation_key_must_be_longer_than_old_ones(text: str, new: bool, old: bool) -> None:
    assert (is_conversation_key(text, is_new=True), is_conversation_key(text)) == (new, old)


def test_an_agent_id_is_lower_case_and_never_corrected() -> None:
    assert all(map(is_agent_id, ("a", "0", "writer", "w-1_x", "a" * 64)))
    assert not any(map(is_agent_id, ("", "-a", "_a", "A", "a b", "a" * 65, "a:b", "ä", "a\n")))


def test_external_text_enters_a_key_unchanged_or_as_its_hash() -> None:
    assert key_text("ctx-1.a@b_C") == "ctx-1.a@b_C"
    for strange in ("a b", "a" * 65, "a:b", "", "ü"):
        hashed = key_text(strange)
        assert len(hashed) == 32
        assert set(hashed) <= set("0123456789abcdef")
        assert SessionKey.kind_of(f"a2a:{caller_hash('someone')}:{hashed}") == "a2a"
    assert key_text("a b") != key_text("a  b")


def test_a_caller_hash_has_twelve_hex_digits_and_is_stable() -> None:
    assert caller_hash("tok_1") == caller_hash("tok_1")
    assert caller_hash("tok_1") != caller_hash("tok_2")
    assert len(caller_hash("tok_1")) == 12
