"""Scopes: exactly four forms, and the chain that a run reads."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel import Code, Refusal, SessionKey
from carrel.memory import MemoryType, Reader, Scope, scope_chain
from carrel.memory.scopes import GLOBAL_SCOPE
from tests.requirements.mark import requirement

RESTS = (
    "main", "task:t-1", "topic:x", "a2a:0123456789ab:ctx", "cron:daily", "hook:a", "node-7", "subagent:u1",
    "openresponses:r", "openresponses-user:0123456789ab:me", "web:conversation", "telegram:group:-5:thread:9",
    "main:group:1", "node:direct:2", f"telegram:group:{'g' * 128}:thread:{'t' * 128}",
)  # fmt: skip
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", fullmatch=True)
identities = st.tuples(
    st.from_regex(r"[a-z0-9][a-z0-9_-]{0,31}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_.@:-]{1,300}", fullmatch=True),
)
MALFORMED = (
    "", "Global", "global ", "global:x", " global", "session", "session:", "session:web", "session:web:", "task:",
    "task:a:b", "task:a b", "task:-a", "goal:web:c:", "goal:web:c", "SESSION:web:c", "session:WEB:c", "session:web:a/b",
    "session:web:a\n", "task:a\x00", "goal:web:c:g/h", "session::c", "everything", "null", "None",
)  # fmt: skip


@requirement("S3.scope.forms")
@given(identity=identities, name=ids)
def test_what_is_built_is_parsed_back(identity: tuple[str, str], name: str) -> None:
    for scope in (Scope.of_session(identity), Scope.of_task(name), Scope.of_goal(identity, name), GLOBAL_SCOPE):
        assert Scope.parse(str(scope)) == scope


@requirement("S3.scope.forms")
@given(text=st.one_of(st.text(max_size=40), st.from_regex(r"(session|goal|task):[a-z0-9:._-]{0,40}", fullmatch=True)))
def test_what_is_parsed_is_built_back(text: str) -> None:
    parsed = None
    with suppress(Refusal):
        parsed = str(Scope.parse(text))
    assert parsed in (None, text)
    assert (parsed == "global") == (text == "global")


@requirement("S3.x.scope.closed")
@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_scope_raises_and_never_becomes_global(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        Scope.parse(text)
    assert (refused.value.code, refused.value.field) == (Code.INVALID_SCOPE, "scope")


@pytest.mark.parametrize("rest", RESTS)
def test_the_scope_of_every_kind_of_session_leads_back_to_its_lane(rest: str) -> None:
    key = SessionKey.of("main", rest)
    assert Scope.of_session(key.identity).lane_of("main") == key
    assert Scope.of_goal(key.identity, "g").lane_of("main") == key


def test_a_scope_that_is_of_no_session_has_no_lane() -> None:
    assert [Scope.parse(text).lane_of("main") for text in ("session:main:other", "session:no:kind")] == [None, None]


@requirement("S3.scope.chain.goal", "S3.scope.chain.task", "S3.scope.chain.plain")
def test_a_chain_goes_from_the_narrowest_scope_to_global() -> None:
    web = ("web", "c1")
    assert [str(one) for one in scope_chain(web)] == ["session:web:c1", "global"]
    assert [str(one) for one in scope_chain(web, task_id="t")] == ["task:t", "session:web:c1", "global"]
    whole = scope_chain(web, goal_id="g", task_id="t")
    assert [str(one) for one in whole] == ["task:t", "goal:web:c1:g", "session:web:c1", "global"]


@requirement("S3.x.goal.noleak", "S3.scope.persist.task", "S3.scope.persist.goal", "S3.scope.persist.session")
def test_each_type_belongs_to_one_scope_or_the_next_wider_one() -> None:
    identity = ("web", "c1")
    types: tuple[MemoryType, ...] = (
        "task_state",
        "result",
        "failure",
        "fix",
        "decision",
        "constraint",
        "preference",
        "fact",
    )

    def kinds(**more: str) -> list[str]:
        reader = Reader(agent_id="main", chain=scope_chain(identity, **more))
        return [reader.scope_for(kind).kind for kind in types]

    assert kinds(task_id="t", goal_id="g") == ["task"] * 4 + ["goal"] * 2 + ["session"] * 2
    assert kinds(task_id="t") == ["task"] * 4 + ["session"] * 4
    assert kinds(goal_id="g") == ["goal"] * 6 + ["session"] * 2
    assert kinds() == ["session"] * 8


@pytest.mark.parametrize("kind", ["global", "task", "goal", "", "session:web:c1"])
def test_only_a_scope_of_the_run_is_written_by_name(kind: str) -> None:
    reader = Reader(agent_id="main", chain=scope_chain(("web", "c1")))
    with pytest.raises(Refusal) as refused:
        reader.named(kind)
    assert refused.value.code is Code.INVALID_SCOPE
    assert str(reader.named("session")) == "session:web:c1"
