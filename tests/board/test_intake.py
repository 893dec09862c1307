"""Entries that are sent to the board: stored once, with their writer, in their place."""

import asyncio
import threading
from typing import Any

import pytest
from msgspec import structs

from carrel.access import make_space
from carrel.board import LogFilter, LogSource, NewLog, list_entries, log_shapes, record
from carrel.journal import (
    DEFAULT_SPACE,
    Entry,
    NewEntry,
    append_entry,
    pending_entries,
    update_entry,
)
from carrel.kernel import Access, Provenance, Refusal, SessionKey, ToolVisibility
from carrel.kernel.limits import LINEAGE_STEPS_MAX
from carrel.sessions import NewChild, insert_child, insert_lane
from carrel.storage import Tx
from carrel.storage.database import InAccount
from carrel.topics import NewTopic, put_topic
from tests.harness.engine import MAIN, SECONDS_MAX, Engine, lane_key, open_engine, within
from tests.harness.wrapped_transaction import WrappedTransaction
from tests.requirements.mark import requirement


@pytest.fixture
async def placed(engine: Engine) -> Engine:
    await engine.db.write(lambda tx: furnish(tx, engine))
    return engine


def furnish(tx: Tx, engine: Engine) -> None:
    """A space with a topic, and a task in it."""
    make_space(tx, engine.access, "Work")
    put_topic(tx, engine.access, NewTopic(id="fence", name="Fence", space_id="space-work"))


def said(content: str, source: dict[str, Any] | None = None, **more: Any) -> NewLog:
    fields: dict[str, Any] = {"type": "conversation", "content": content, "source": LogSource(**source or {})}
    return NewLog(**fields | more)


async def send(engine: Engine, log: NewLog) -> tuple[Entry, bool]:
    return await engine.db.write(lambda tx: record(tx, engine.access, log))


async def test_an_entry_is_read_back_with_everything_but_its_raw_text(placed: Engine) -> None:
    log = said("[Discord Ada] hello", {"channel": "discord"}, summary="greeting", raw="{}", agent_label="Ada")
    entry, repeated = await send(placed, log)
    assert not repeated
    assert (entry.content, entry.summary, entry.agent_label) == ("hello", "greeting", "Ada")
    found = await placed.db.read(lambda tx: pending_entries(tx, placed.access, 0, limit=10))
    assert found == [structs.replace(entry, raw=None)]
    (shape,) = await placed.db.read(lambda tx: log_shapes(tx, placed.access, found, raw=True))
    assert shape.raw == "{}"


async def test_a_changed_entry_is_told_of_on_the_feed(placed: Engine) -> None:
    entry, _ = await send(placed, said("hello"))
    done = structs.replace(entry, topic_id="fence", classification="classified", summary="greeting")
    written = await placed.db.write(lambda tx: update_entry(tx, placed.access, done))
    assert written.updated_at is not None
    assert await placed.db.read(lambda tx: pending_entries(tx, placed.access, 0, limit=10)) == []
    told = await placed.db.read(
        lambda tx: tx.all(
            "SELECT topic_id FROM events WHERE account_id = :account AND name = 'log.updated'", placed.access
        )
    )
    assert [row[0] for row in told] == ["fence"]


@requirement("S4.key.foreign")
async def test_a_foreign_session_key_is_a_bucket_and_opens_no_session(placed: Engine) -> None:
    sent = ("conv-1|thread:9", "channel:7", "agent:main:discord:channel:5", "anything else")
    for key in sent:
        entry, _ = await send(placed, said(key, {"session_key": key}))
        assert (entry.key, entry.bucket, entry.session_id) == (None, key, None)
        wanted = LogFilter(bucket=key)
        (found,) = await placed.db.read(lambda tx, wanted=wanted: list_entries(tx, placed.access, wanted, limit=5))  # type: ignore[misc]
        assert found.content == key
    assert (
        await placed.db.read(lambda tx: tx.all("SELECT 1 FROM lanes WHERE account_id = :account", placed.access)) == []
    )


async def test_an_entry_for_a_lane_belongs_to_its_open_generation(placed: Engine) -> None:
    await placed.say(MAIN, "go")
    before, _ = await send(placed, said("before", {"session_key": str(MAIN)}))
    held = await placed.take_one()
    await placed.start_turn(held)
    run = await placed.run(held.id)
    after, _ = await send(placed, said("after", {"session_key": "main"}))
    assert (before.key, before.session_id, before.bucket) == (str(MAIN), None, None)
    assert (after.key, after.session_id) == (str(MAIN), run.session_id)


@requirement("S4.key.board")
@requirement("S4.key.normalise")
@pytest.mark.parametrize("key", ["clawboard:topic:fence", "clawboard:task:fence:paint"])
async def test_a_key_of_the_board_decides_where_an_entry_belongs(placed: Engine, key: str) -> None:
    await placed.say(lane_key("other"), "makes the task", task_id="paint")
    source = {"session_key": key, "conversation_id": "provider-1"}
    entry, _ = await send(placed, said("whatever it says", source))
    task = "paint" if "task" in key else None
    assert (entry.topic_id, entry.task_id, entry.bucket) == ("fence", task, key)
    assert entry.source is not None
    assert entry.source["boardScopeTopicId"] == "fence"
    assert entry.source.get("boardScopeTaskId") == task
    assert entry.source["boardScopeSpaceId"] == (DEFAULT_SPACE if task else "space-work")
    assert entry.source["boardScopeLock"] is True


@requirement("S4.space.infer")
async def test_the_space_from_which_something_is_said_wins_over_the_one_that_is_sent_with_it(placed: Engine) -> None:
    for scope, space in (("space-work", "space-work"), ("space-nowhere", DEFAULT_SPACE)):
        source = {"session_key": "channel:1", "board_scope_space_id": scope}
        entry, _ = await send(placed, said(f"hello from {scope}", source, space_id=DEFAULT_SPACE))
        assert entry.space_id == space


@requirement("S4.key.provider")
@requirement("S4.key.channel")
async def test_without_a_key_of_the_board_the_providers_conversation_counts(placed: Engine) -> None:
    provider = {"session_key": "s-1", "conversation_id": "conv-1", "channel_id": "7"}
    for source, bucket in (
        (provider | {"thread_id": "9"}, "conv-1|thread:9"),
        (provider, "conv-1"),
        ({"session_key": "s-1", "channel_id": "7"}, "s-1"),
        ({"channel_id": "7"}, "channel:7"),
        ({}, None),
    ):
        entry, _ = await send(placed, said("hello", source))
        assert entry.bucket == bucket


@requirement("S4.x.dedupe.person")
async def test_equal_texts_are_one_entry_only_under_the_same_message_id(placed: Engine) -> None:
    first, _ = await send(placed, said("yes", {"channel": "discord", "message_id": "m-1"}))
    second, repeated = await send(placed, said("yes", {"channel": "discord", "message_id": "m-2"}))
    assert not repeated
    again = await send(placed, said("yes", {"channel": "discord", "message_id": "m-1"}, idempotency_key="k-1"))
    assert again == (first, True)
    for other in (
        said("yes", {"channel": "slack", "message_id": "m-1"}),
        said("yes", {"channel": "discord", "message_id": "m-1"}, agent_id="main"),
        said("yes", {"channel": "discord", "message_id": "m-1"}, type="note"),
        said("yes"),
        said("yes"),
    ):
        assert (await send(placed, other))[1] is False
    assert first.id != second.id


class Halting(WrappedTransaction):
    """A transaction that stops before it writes an entry, until it may go on."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx)
        self.stopped, self.may_go_on = threading.Event(), threading.Event()

    def run(self, sql: str, access: InAccount | None = None, /, **values: object) -> int:
        if sql.startswith("INSERT INTO entries"):
            self.stopped.set()
            assert self.may_go_on.wait(SECONDS_MAX)
        return super().run(sql, access, **values)


@requirement("S4.x.dedupe.person")
async def test_a_message_that_is_sent_under_two_keys_at_once_is_one_entry(postgres_url: str) -> None:
    """The second request has looked for the message before the first one stores it, and writes after that."""
    log = said("yes", {"channel": "discord", "message_id": "m-1"}, idempotency_key="second")
    loop = asyncio.get_running_loop()
    halting: asyncio.Future[Halting] = loop.create_future()
    async with open_engine(postgres_url) as engine:

        def slowly(tx: Tx) -> tuple[Entry, bool]:
            held = Halting(tx)
            loop.call_soon_threadsafe(halting.set_result, held)
            return record(held, engine.access, log)

        second = asyncio.ensure_future(engine.db.write(slowly))
        held = await within(halting)
        assert await asyncio.to_thread(held.stopped.wait, SECONDS_MAX)
        try:
            entry, repeated = await send(engine, structs.replace(log, idempotency_key="first"))
        finally:
            held.may_go_on.set()
        assert not repeated
        assert await within(second) == (entry, True)
        logs = await engine.db.read(lambda tx: list_entries(tx, engine.access, LogFilter(), limit=5))
        assert [log.id for log in logs] == [entry.id]


async def test_of_many_that_send_one_message_at_once_one_stores_it(placed: Engine) -> None:
    log = said("yes", {"channel": "discord", "message_id": "m-1"})
    sent = [structs.replace(log, idempotency_key=f"key-{n}") for n in range(8)]
    answers = await within(asyncio.gather(*(send(placed, each) for each in sent)))
    assert len({entry.id for entry, _ in answers}) == 1
    assert sum(not repeated for _, repeated in answers) == 1


@requirement("S4.x.second.reply")
async def test_two_replies_to_a_request_are_kept_and_the_same_one_once(placed: Engine) -> None:
    def reply(text: str) -> NewLog:
        return said(text, {"channel": "openclaw", "request_id": "req-1"}, agent_id="main")

    first, _ = await send(placed, reply("I am on it."))
    second, repeated = await send(placed, reply("It is done."))
    assert not repeated
    assert (await send(placed, reply("I am on it."))) == (first, True)
    assert (await send(placed, reply("It is done."))) == (second, True)
    other = structs.replace(reply("It is done."), agent_id="coder")
    assert (await send(placed, other))[1] is False, "what another agent says is not the same"


async def test_an_entry_was_said_when_its_sender_says_but_not_in_the_future(placed: Engine) -> None:
    now = placed.clock.now_ms()
    for said_at, kept in ((now - 60_000, now - 60_000), (now + 60_000, now), (None, now)):
        entry, _ = await send(placed, said("hello", created_at=said_at))
        assert entry.created_at == kept


async def test_an_idempotency_key_is_used_once(placed: Engine) -> None:
    first, _ = await send(placed, said("one", idempotency_key="k-1"))
    assert await send(placed, said("two", idempotency_key="k-1")) == (first, True)


@requirement("S4.x.writer")
async def test_what_a_program_calls_a_persons_words_is_said_by_who_said_it(placed: Engine) -> None:
    child = {"session_key": "agent:coder:subagent:0b1c"}
    delegated, _ = await send(placed, said("Write the tests", child, agent_id="user"))
    assert (delegated.author, delegated.author_kind, delegated.role) == ("coder", "agent", "user")
    heartbeat, _ = await send(placed, said("HEARTBEAT_OK", agent_id="user"))
    assert (heartbeat.author, heartbeat.author_kind) == ("system", "system")
    spoken, _ = await send(placed, said("hello", agent_id="user"))
    assert (spoken.author, spoken.author_kind, spoken.role) == ("user", "user", "user")
    answered, _ = await send(placed, said("hello", agent_id="coder"))
    assert (answered.author, answered.author_kind, answered.role) == ("coder", "agent", "assistant")


@requirement("S4.filter.tool.unanchored")
async def test_entries_that_are_filtered_end_at_once(placed: Engine) -> None:
    trace, _ = await send(placed, said("Tool call: exec", {"session_key": "conv-1"}, type="action"))
    assert (trace.classification, trace.classification_error) == ("failed", "filtered_unanchored_tool_activity")
    anchored, _ = await send(placed, said("Tool call: exec", {"session_key": "clawboard:topic:fence"}, type="action"))
    assert (anchored.classification, anchored.classification_error) == ("classified", "filtered_tool_activity")


async def test_a_place_that_does_not_exist_is_refused_by_name(placed: Engine) -> None:
    for name, field in (("topic_id", "topicId"), ("task_id", "taskId"), ("space_id", "spaceId")):
        with pytest.raises(Refusal) as refused:
            await send(placed, said("hello", None, **{name: "nowhere"}))
        assert refused.value.field == field
    # A key of the board may be older or younger than what it names.
    entry, _ = await send(placed, said("hello", {"session_key": "clawboard:topic:nowhere"}))
    assert (entry.topic_id, entry.bucket) == (None, "clawboard:topic:nowhere")


@requirement("S4.key.nodouble")
async def test_a_host_that_repeats_a_message_of_a_board_chat_and_its_answer_adds_nothing(placed: Engine) -> None:
    key = SessionKey.of("main", "task:paint")
    held = (await placed.say(key, "Paint it green", task_id="paint"), await placed.take_one())[1]
    await placed.start_turn(held)
    run = await placed.run(held.id)

    def own(role: str, text: str, author: str) -> NewEntry:
        where: dict[str, Any] = {"key": str(key), "run_id": run.id, "session_id": run.session_id}
        source = Provenance(kind="external_user")
        return NewEntry(type="conversation", role=role, content=text, author=author, provenance=source, **where)

    def echo(text: str, sent: str, author: str) -> NewLog:
        return said(text, {"session_key": sent, "channel": "openclaw", "message_id": f"{sent} {text}"}, agent_id=author)

    asked, answered = own("user", "Paint it green", "user"), own("assistant", "It is green.", "main")
    for entry in (asked, answered):
        await placed.db.write(lambda tx, entry=entry: append_entry(tx, placed.access, entry))  # type: ignore[misc]
    decorated = "[Sun 2026-02-08 09:01 EST] Paint it green"
    for sent in ("clawboard:task:fence:paint", str(key), f"{key}:v1"):
        for log in (echo(decorated, sent, "user"), echo("It is green.", sent, "main")):
            assert (await send(placed, log))[1] is True
    assert (await send(placed, echo("Paint it blue", str(key), "user")))[1] is False
    assert (await send(placed, echo("It is green.", str(key), "user")))[1] is False
    placed.advance(3600)
    assert (await send(placed, echo("Paint it green", str(key), "user")))[1] is False


@requirement("S4.alloc.subagent")
@requirement("S4.alloc.nofallback")
async def test_a_sub_agents_entries_inherit_their_place_by_the_link_of_their_own_session_only(
    placed: Engine,
) -> None:
    child, other = "agent:coder:subagent:0b1c", "agent:coder:subagent:9f2d"
    spawned = f'Tool result: sessions_spawn {{"childSessionKey": "{child}"}}'
    await send(placed, said(spawned, {"session_key": "clawboard:topic:fence"}, type="action", agent_id="coder"))
    linked, _ = await send(placed, said("Done.", {"session_key": child}, agent_id="coder"))
    unlinked, _ = await send(placed, said("Done.", {"session_key": other}, agent_id="coder"))
    told, _ = await send(
        placed, said("Done.", {"session_key": other, "board_scope_topic_id": "fence"}, agent_id="coder")
    )
    assert [entry.topic_id for entry in (linked, unlinked, told)] == ["fence", None, "fence"]


async def test_a_sub_agents_session_leads_nobody_into_a_topic_that_they_do_not_see(placed: Engine) -> None:
    child = "agent:coder:subagent:0b1c"
    spawned = f'Tool result: sessions_spawn {{"childSessionKey": "{child}"}}'
    await send(placed, said(spawned, {"session_key": "clawboard:topic:fence"}, type="action", agent_id="coder"))
    bob = structs.replace(placed.access, kind="user", actor_id="usr_bob", space_ids=(DEFAULT_SPACE,))
    log = said("Where am I?", {"session_key": child})
    lost, _ = await placed.db.write(lambda tx: record(tx, bob, log))
    assert (lost.topic_id, lost.space_id, lost.source) == (None, None, {"sessionKey": child})
    linked, _ = await send(placed, said("Done.", {"session_key": child}, agent_id="coder"))
    assert (linked.topic_id, linked.space_id) == ("fence", "space-work")


async def test_only_the_trace_of_a_tool_links_a_sub_agents_session(placed: Engine) -> None:
    child = "agent:coder:subagent:0b1c"
    for kind in ("conversation", "note"):
        quoted = f'I read "childSessionKey": "{child}" somewhere'
        await send(placed, said(quoted, {"session_key": "clawboard:topic:fence"}, type=kind))
    entry, _ = await send(placed, said("Done.", {"session_key": child}, agent_id="coder"))
    assert entry.topic_id is None


@pytest.mark.parametrize(("steps", "topic"), [(LINEAGE_STEPS_MAX, "fence"), (LINEAGE_STEPS_MAX + 1, None)])
async def test_a_place_is_inherited_over_so_many_steps(placed: Engine, steps: int, topic: str | None) -> None:
    parent = SessionKey.of("main", "topic:fence")
    children = [SessionKey.of("main", f"subagent:{n}") for n in range(steps)]

    def spawn(tx: Tx) -> None:
        insert_lane(tx, placed.access, parent)
        for above, child in zip((parent, *children), children, strict=False):
            insert_child(tx, placed.access, NewChild(key=child, spawned_by=above))

    await placed.db.write(spawn)
    entry, _ = await send(placed, said("Done.", {"session_key": str(children[-1])}, agent_id="main"))
    assert entry.topic_id == topic


async def test_a_spawned_lane_inherits_the_place_of_the_lane_it_was_spawned_from(placed: Engine) -> None:
    parent = SessionKey.of("main", "topic:fence")
    child, grandchild = (SessionKey.of("main", f"subagent:{name}") for name in ("one", "two"))

    def spawn(tx: Tx) -> None:
        insert_lane(tx, placed.access, parent)
        insert_child(tx, placed.access, NewChild(key=child, spawned_by=parent))
        insert_child(tx, placed.access, NewChild(key=grandchild, spawned_by=child))

    await placed.db.write(spawn)
    entry, _ = await send(placed, said("Done.", {"session_key": str(grandchild)}, agent_id="main"))
    assert (entry.key, entry.topic_id, entry.space_id) == (str(grandchild), "fence", "space-work")


async def test_a_session_out_of_view_is_refused_and_gets_nothing(placed: Engine) -> None:
    chat = SessionKey.of("main", "web:chat-of-ada")
    ada, bob = (structs.replace(placed.access, kind="user", actor_id=name) for name in ("usr_ada", "usr_bob"))
    await placed.say(chat, "mine", access=ada)
    log = said("not mine", {"session_key": str(chat)})
    with pytest.raises(Refusal) as refused:
        await placed.db.write(lambda tx: record(tx, bob, log))
    assert refused.value.code == "forbidden"
    entry, _ = await placed.db.write(lambda tx: record(tx, ada, log))
    assert entry.key == str(chat)


async def test_a_note_belongs_where_the_entry_it_is_about_belongs(placed: Engine) -> None:
    about, _ = await send(placed, said("It was green", {"session_key": "clawboard:topic:fence"}))
    note, _ = await send(placed, said("Ada prefers blue", type="note", related_id=about.id))
    assert (note.topic_id, note.space_id, note.classification) == ("fence", "space-work", "classified")
    with pytest.raises(Refusal, match="There is no entry"):
        await send(placed, said("lost", type="note", related_id="ent_nowhere"))


async def test_what_an_agent_sees_outside_of_lanes_is_sorted_and_in_a_sandbox_its_own_task(placed: Engine) -> None:
    await placed.say(lane_key("other"), "makes the task", task_id="paint")
    for text, more in (
        ("of the topic", {"topic_id": "fence"}), ("of the task", {"task_id": "paint"}), ("of nothing", {}),
    ):  # fmt: skip
        await send(placed, said(text, None, **more))

    async def seen(access: Access) -> set[str]:
        found = await placed.db.read(lambda tx: list_entries(tx, access, LogFilter(), limit=10))
        return {entry.content for entry in found}

    key = SessionKey.of("main", "task:paint")
    view = ToolVisibility(mode="tree", key=key, rule="tools.sessions.visibility is tree")
    agent = structs.replace(placed.access, kind="agent", agent_id="main", view=view)
    sandboxed = structs.replace(agent, view=structs.replace(view, sandboxed=True))
    elsewhere = structs.replace(agent, view=structs.replace(view, sandboxed=True, key=MAIN))
    assert await seen(placed.access) == {"of the topic", "of the task", "of nothing"}
    assert await seen(agent) == {"of the topic", "of the task"}
    assert await seen(sandboxed) == {"of the task"}
    assert await seen(elsewhere) == set()
    assert await seen(structs.replace(agent, view=None)) == set()
    at_home = structs.replace(placed.access, kind="user", space_ids=("space-default",))
    assert await seen(at_home) == {"of the task", "of nothing"}
