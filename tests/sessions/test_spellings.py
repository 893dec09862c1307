"""Every spelling of a session that anybody ever used, read in one place."""

import pytest

from carrel.kernel import Code, Refusal
from carrel.sessions import Spelling, read_spelling
from tests.requirements.mark import requirement

ACC = "acc_" + "0" * 26
SES = "ses_" + "1" * 26
HASH = "0123456789ab"

READ = {
    # canonical keys
    "agent:writer:main": Spelling(slug="writer", rest="main"),
    "agent:writer:task:task_1": Spelling(slug="writer", rest="task:task_1"),
    "agent:writer:topic:topic_1": Spelling(slug="writer", rest="topic:topic_1"),
    f"agent:writer:a2a:{HASH}:ctx": Spelling(slug="writer", rest=f"a2a:{HASH}:ctx"),
    "agent:writer:web:abcdefgh": Spelling(slug="writer", rest="web:abcdefgh"),
    "agent:writer:slack:group:C1:thread:2": Spelling(slug="writer", rest="slack:group:C1:thread:2"),
    "agent:writer:subagent:u-1": Spelling(slug="writer", rest="subagent:u-1"),
    f"agent:writer:openresponses-user:{HASH}:bob": Spelling(slug="writer", rest=f"openresponses-user:{HASH}:bob"),
    # with a generation, and as a gateway shared by accounts knows it
    "agent:writer:main:v2": Spelling(slug="writer", rest="main", generation=2),
    "agent:writer:task:task_1:v12": Spelling(slug="writer", rest="task:task_1", generation=12),
    "agent:writer:task:t:v2@acme": Spelling(slug="writer", rest="task:t", generation=2, account="acme"),
    "main:v3": Spelling(rest="main", generation=3),
    # without an agent
    "main": Spelling(rest="main"),
    "current": Spelling(current=True),
    "cron:nightly": Spelling(rest="cron:nightly"),
    "hook:u-1": Spelling(rest="hook:u-1"),
    "node-kitchen": Spelling(rest="node-kitchen"),
    "task:task_1": Spelling(rest="task:task_1"),
    "web:abc": Spelling(rest="web:abc"),
    # the board's
    "clawboard:topic:topic_1": Spelling(rest="topic:topic_1"),
    "clawboard:task:topic_1:task_1": Spelling(rest="task:task_1"),
    "agent:writer:clawboard:task:topic_1:task_1": Spelling(slug="writer", rest="task:task_1"),
    # the base session and the task session of old
    f"agent:writer:{ACC}": Spelling(slug="writer", rest="main", account=ACC),
    f"task:task_1:agent:writer:{ACC}:v2": Spelling(slug="writer", rest="task:task_1", account=ACC, generation=2),
    # ids and conversation keys
    SES: Spelling(session_id=SES),
    "abcdefgh": Spelling(bare="abcdefgh"),
    "x": Spelling(bare="x"),
    # lower case up to the id
    "AGENT:Writer:Task:Task_A": Spelling(slug="writer", rest="task:Task_A"),
    "Main": Spelling(rest="main"),
    "CRON:Nightly": Spelling(rest="cron:Nightly"),
    "node-Kitchen": Spelling(rest="node-Kitchen"),
}


@requirement("S2.key.main", "S0.route.spelling.task")
@pytest.mark.parametrize(("text", "meaning"), READ.items(), ids=READ.keys())
def test_a_spelling_is_read_as_it_was_meant(text: str, meaning: Spelling) -> None:
    assert read_spelling(text) == meaning


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
def test_what_spells_nothing_is_refused_with_the_field_named(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_spelling(text)
    assert (caught.value.code, caught.value.field) == (Code.INVALID_PARAMS, "sessionKey")


@requirement("S2.key.reserved")
@pytest.mark.parametrize("text", ["global", "unknown", "agent:main:global", "agent:main:unknown"])
def test_reserved_names_are_refused_in_every_spelling(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_spelling(text)
    assert caught.value.code == Code.RESERVED_SESSION_KEY
