"""Session references: every form in which a session can be named."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.sessions.references import SessionReference, parse_reference
from tests.requirements.mark import requirement

ACC = "acc_" + "0" * 26
SES = "ses_" + "1" * 26
HASH = "0123456789ab"

READ = {
    # canonical keys
    "agent:writer:main": SessionReference(slug="writer", rest="main"),
    "agent:writer:task:task_1": SessionReference(slug="writer", rest="task:task_1"),
    "agent:writer:topic:topic_1": SessionReference(slug="writer", rest="topic:topic_1"),
    f"agent:writer:a2a:{HASH}:ctx": SessionReference(slug="writer", rest=f"a2a:{HASH}:ctx"),
    "agent:writer:web:abcdefgh": SessionReference(slug="writer", rest="web:abcdefgh"),
    "agent:writer:slack:group:C1:thread:2": SessionReference(slug="writer", rest="slack:group:C1:thread:2"),
    "agent:writer:subagent:u-1": SessionReference(slug="writer", rest="subagent:u-1"),
    f"agent:writer:openresponses-user:{HASH}:bob": SessionReference(
        slug="writer", rest=f"openresponses-user:{HASH}:bob"
    ),
    # with a generation, and as a gateway shared by accounts knows it
    "agent:writer:main:v2": SessionReference(slug="writer", rest="main", generation=2),
    "agent:writer:task:task_1:v12": SessionReference(slug="writer", rest="task:task_1", generation=12),
    "agent:writer:task:t:v2@acme": SessionReference(slug="writer", rest="task:t", generation=2, account="acme"),
    "main:v3": SessionReference(rest="main", generation=3),
    # without an agent
    "main": SessionReference(rest="main"),
    "current": SessionReference(current=True),
    "cron:nightly": SessionReference(rest="cron:nightly"),
    "hook:u-1": SessionReference(rest="hook:u-1"),
    "node-kitchen": SessionReference(rest="node-kitchen"),
    "task:task_1": SessionReference(rest="task:task_1"),
    "web:abc": SessionReference(rest="web:abc"),
    # the board's
    "clawboard:topic:topic_1": SessionReference(rest="topic:topic_1"),
    "clawboard:task:topic_1:task_1": SessionReference(rest="task:task_1"),
    "agent:writer:clawboard:task:topic_1:task_1": SessionReference(slug="writer", rest="task:task_1"),
    # the base session and the task session of old
    f"agent:writer:{ACC}": SessionReference(slug="writer", rest="main", account=ACC),
    f"task:task_1:agent:writer:{ACC}:v2": SessionReference(
        slug="writer", rest="task:task_1", account=ACC, generation=2
    ),
    # ids and conversation keys
    SES: SessionReference(session_id=SES),
    "abcdefgh": SessionReference(bare="abcdefgh"),
    "x": SessionReference(bare="x"),
    # lower case up to the id
    "AGENT:Writer:Task:Task_A": SessionReference(slug="writer", rest="task:Task_A"),
    "Main": SessionReference(rest="main"),
    "CRON:Nightly": SessionReference(rest="cron:Nightly"),
    "node-Kitchen": SessionReference(rest="node-Kitchen"),
}


@requirement("S2.key.main", "S0.route.spelling.task")
@pytest.mark.parametrize(("text", "meaning"), READ.items(), ids=READ.keys())
def test_a_reference_is_parsed_into_its_parts(text: str, meaning: SessionReference) -> None:
    assert parse_reference(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 241,
        "agent:writer",
        "agent:writer:nothing:x",
        "a b",
        "main:v0",
        "main:v",
        "x:y",
        "agent:writer:main:v1:v2",
    ],
)
def test_what_is_not_a_reference_is_refused_with_the_field_named(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_reference(text)
    assert (caught.value.code, caught.value.field) == (Code.INVALID_PARAMS, "sessionKey")


@requirement("S2.key.reserved")
@pytest.mark.parametrize("text", ["global", "unknown", "agent:main:global", "agent:main:unknown"])
def test_reserved_names_are_refused_in_every_form(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_reference(text)
    assert caught.value.code == Code.RESERVED_SESSION_KEY
