"""Random boards: spaces, topics with tags, tasks, lanes and entries that move; and who finds what, told once more."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct, structs

from carrel.access import SpaceScope, make_space, remove_space
from carrel.board import BoardDocuments, BoardFound, BoardQuery, Ranked, board_search
from carrel.journal import DEFAULT_SPACE, FollowerDuty, NewEntry, append_entry, entries_by_id, update_entry
from carrel.kernel import Access, Provenance, Refusal, SessionKey, ToolVisibility, system_access
from carrel.kernel.settings import SearchSettings
from carrel.search import Indexing, Rebuilds, Search, index_lag, observe_entries
from carrel.search.embedders import NoEmbedder
from carrel.sessions import make_lane
from carrel.storage import Tx
from carrel.topics import NewTopic, TopicChange, change_topic, put_topic, remove_topic
from carrel.topics.tags import space_of_tag
from carrel.work import NewTask, TaskChange, change_task, create_task
from tests.harness.engine import Engine, open_engine

SPACES = ("space-a", "space-b", "space-c", DEFAULT_SPACE)
TAGS = ("space:a", "b", "C", "system:b", "space:all")
LANES = ("agent:main:hook:one", "agent:main:hook:two", "agent:other:hook:one", "agent:main:web:chat-1")
BUCKETS = ("channel:7", "agent:main:hook:elsewhere")
WORDS = ("gasket", "valve", "copper", "bolt")
PEOPLE = ("usr_ann", "usr_bob")


class Caller(Struct, frozen=True, kw_only=True):
    """Who searches, and how the rule sees them."""

    access: Access
    viewer: str
    session: str | None
    sandboxed: bool = False
    # The task whose lane looks.
    task_id: str | None = None


class World:
    """One account's board, and its index."""

    def __init__(self, engine: Engine, access: Access, chance: random.Random) -> None:
        self.engine, self.access, self.chance = engine, access, chance
        self.search = Search(engine.db, NoEmbedder(), SearchSettings(embedding="none", query_cache_size=4))
        self.indexing = Indexing(engine.db, BoardDocuments(), NoEmbedder(), SearchSettings())
        self.ids: dict[str, list[str]] = {"topic": [], "task": [], "entry": []}
        self.numbers = 0
        self.spaces = list(SPACES)

    async def furnish(self) -> None:
        """Make the spaces and the lanes."""

        def work(tx: Tx) -> None:
            for space in SPACES[:3]:
                make_space(tx, self.access, space.removeprefix("space-"))
            for key in LANES:
                # A chat belongs to whoever opened it.
                owner = PEOPLE[0] if ":web:" in key else "system"
                make_lane(tx, structs.replace(self.access, actor_id=owner), SessionKey.stored(key))

        await self.engine.db.write(work)

    async def step(self) -> None:
        """Change something at random; what is refused stays as it is."""
        verbs = (self._topic, self._task, self._entry, self._entry, self._move_topic, self._move_task, self._move_entry,
                 self._remove)  # fmt: skip
        verb = self.chance.choice(verbs)
        try:
            await self.engine.db.write(verb)
        except Refusal:
            return

    def _name(self, kind: str) -> str:
        self.numbers += 1
        return f"{kind}-{self.numbers}"

    def _known(self, kind: str) -> str | None:
        return self.chance.choice((None, *self.ids[kind][-6:]))

    def _text(self) -> str:
        return " ".join(self.chance.sample(WORDS, 2))

    def _tags(self) -> tuple[str, ...]:
        return tuple(self.chance.sample(TAGS, self.chance.choice((0, 0, 1, 2))))

    def _topic(self, tx: Tx) -> None:
        new = NewTopic(
            id=self._name("topic"), name=self._text(), tags=self._tags(), space_id=self.chance.choice(self.spaces)
        )
        self.ids["topic"].append(put_topic(tx, self.access, new)[0].id)

    def _task(self, tx: Tx) -> None:
        new = NewTask(id=self._name("task"), title=self._text(), topic_id=self._known("topic"),
                      space_id=self.chance.choice((None, *self.spaces)),
                      assigned_agent_ids=self.chance.choice(((), (), ("main",), ("other",))))  # fmt: skip
        self.ids["task"].append(create_task(tx, self.access, new, self.engine.rules).id)

    def _entry(self, tx: Tx) -> None:
        key, bucket = self.chance.choice([(key, None) for key in LANES] + [(None, each) for each in (*BUCKETS, None)])
        topic, task = self.chance.choice(((None, None), (None, None), (self._known("topic"), self._known("task"))))
        new = NewEntry(
            id=self._name("entry"), type=self.chance.choice(("conversation", "conversation", "note")), role="user",
            content=self._text(), author="user", provenance=Provenance(kind="external_user"), key=key, bucket=bucket,
            topic_id=topic, task_id=task, space_id=self.chance.choice((None, None, *self.spaces)),
        )  # fmt: skip
        self.ids["entry"].append(append_entry(tx, self.access, new).id)

    def _move_topic(self, tx: Tx) -> None:
        change = self.chance.choice(
            (TopicChange(tags=self._tags()), TopicChange(space_id=self.chance.choice(self.spaces)))
        )
        change_topic(tx, self.access, self._known("topic") or "none", change)

    def _move_task(self, tx: Tx) -> None:
        changes = (TaskChange(topic_id=self._known("topic")), TaskChange(space_id=self.chance.choice(self.spaces)))
        change_task(tx, self.access, self._known("task") or "none", self.chance.choice(changes), self.engine.rules)

    def _move_entry(self, tx: Tx) -> None:
        for entry in entries_by_id(tx, self.access, filter(None, [self._known("entry")])):
            topic, task = self.chance.choice(((None, None), (self._known("topic"), self._known("task"))))
            moved = structs.replace(
                entry, topic_id=topic, task_id=task, space_id=self.chance.choice((None, *self.spaces))
            )
            update_entry(tx, self.access, moved)

    def _remove(self, tx: Tx) -> None:
        if self.chance.random() < 0.1:
            space = self.chance.choice(self.spaces)
            remove_space(tx, self.access, space)
            self.spaces.remove(space)
        elif (topic := self._known("topic")) is not None:
            remove_topic(tx, self.access, topic)
            self.ids["topic"].remove(topic)

    async def catch_up(self) -> None:
        """Have everything indexed that has happened."""
        follower, rebuilds = FollowerDuty(self.engine.db, self.indexing, "one"), Rebuilds(self.indexing)
        while (await self.engine.db.read(lambda tx: index_lag(tx, self.access))).pending:
            await follower.round()
            await rebuilds.round()

    def caller(self) -> Caller:
        """Somebody who may search."""
        spaces = self.chance.choice((("*",), ("space-a",), ("space-a", DEFAULT_SPACE), ("space-b", "space-c")))
        base = structs.replace(self.access, space_ids=spaces)
        kind = self.chance.choice(("owner", "user", "agent", "agent"))
        if kind != "agent":
            person = self.chance.choice(PEOPLE)
            return Caller(access=structs.replace(base, kind=kind, actor_id=person), viewer=kind, session=None)
        key, sandboxed = SessionKey.stored(self.chance.choice(LANES)), self.chance.random() < 0.3
        mode: Any = "tree" if sandboxed else self.chance.choice(("self", "tree", "all"))
        view = ToolVisibility(mode=mode, key=key, rule="", sandboxed=sandboxed, others_enabled=True)
        access = structs.replace(base, kind="agent", actor_id=key.agent, agent_id=key.agent, view=view)
        bucket = self.chance.choice((None, None, *BUCKETS))
        return Caller(access=access, viewer="agent", session=bucket or str(key), sandboxed=sandboxed)

    def scope(self, caller: Caller) -> SpaceScope:
        """The spaces of a search, which may be more than the caller may see."""
        return SpaceScope(allowed=self.chance.choice((None, None, ("space-a",), ("space-b", DEFAULT_SPACE))))

    async def find(self, caller: Caller, query: BoardQuery) -> set[tuple[str, str]]:
        """Return the kind and the id of what a caller finds."""
        found = await board_search(self.engine.db, self.search, caller.access, query)
        return names(found)


def names(found: BoardFound) -> set[tuple[str, str]]:
    """Return the kind and the id of everything that was found."""
    every: tuple[tuple[Ranked[Any], ...], ...] = (found.topics, found.tasks, found.logs, found.notes)
    return {(one.hit.kind, one.hit.id) for kind in every for one in kind}


_COLUMNS = {
    "topics": "id, space_id, tags, name",
    "tasks": "id, space_id, topic_id, title",
    "entries": "id, type, key, bucket, topic_id, task_id, space_id, content, task_view",
}


class Rule:
    """The rule of who finds what, from plain rows: told independently of the code that enforces it."""

    def __init__(self, tx: Tx, access: Access) -> None:
        def rows(table: str) -> dict[str, dict[str, Any]]:
            columns = _COLUMNS[table]
            found = tx.all(f"SELECT {columns} FROM {table} WHERE account_id = :account", access)
            return {row[0]: dict(zip(columns.split(", "), row, strict=True)) for row in found}

        self.topics, self.tasks, self.entries = rows("topics"), rows("tasks"), rows("entries")
        sql = "SELECT task_id, party_id FROM task_parties WHERE account_id = :account AND assigned_at IS NOT NULL"
        self.assigned = {(row[0], row[1]) for row in tx.all(sql, access)}

    def topic_spaces(self, topic_id: str | None) -> set[str]:
        topic = self.topics.get(topic_id or "")
        if topic is None:
            return set()
        named = {space_of_tag(tag) for tag in msgspec.json.decode(topic["tags"])} - {None}
        return {topic["space_id"], *filter(None, named)}

    def task_spaces(self, task_id: str | None) -> set[str]:
        task = self.tasks.get(task_id or "")
        return set() if task is None else {task["space_id"], *self.topic_spaces(task["topic_id"])}

    def entry_spaces(self, entry: dict[str, Any]) -> set[str]:
        others = self.topic_spaces(entry["topic_id"]) | self.task_spaces(entry["task_id"])
        return others | ({entry["space_id"]} if entry["space_id"] else set() if others else {DEFAULT_SPACE})

    def allowed(self, caller: Caller, spaces: tuple[str, ...] | None) -> dict[tuple[str, str], str]:
        """Return what a caller may find in spaces, with its text; an agent without any also what it works on."""
        mine = set(caller.access.space_ids)
        everywhere = spaces is None or spaces == caller.access.space_ids

        def within(own: set[str], task_id: str | None = None) -> bool:
            if everywhere and (task_id, caller.access.agent_id) in self.assigned:
                return True
            seen = own if "*" in mine else own & mine
            return bool(seen if spaces is None else seen & set(spaces))

        found: dict[tuple[str, str], str] = {}
        found |= {("topic", name): one["name"] for name, one in self.topics.items() if within(self.topic_spaces(name))}
        found |= {
            ("task", name): one["title"] for name, one in self.tasks.items() if within(self.task_spaces(name), name)
        }
        # A name that looks like a lane's is a program's once something was sent under it; before, an agent looks from
        # its own lane.
        sent = {entry["bucket"] for entry in self.entries.values()}
        if caller.session not in (None, *LANES, BUCKETS[0]) and caller.session not in sent:
            caller = structs.replace(caller, session=str(caller.access.current))
        for entry in self.entries.values():
            kind = "note" if entry["type"] == "note" else "log"
            # What belongs to a task is found out of its spaces in the lanes of that task alone.
            own_task = entry["task_id"] if caller.task_id == entry["task_id"] else None
            # Whoever names no spaces finds what was said in their own chats or session, whatever spaces they see.
            is_own = everywhere and kind == "log" and self._is_own(caller, entry)
            is_seen = entry["task_view"] is None and (is_own or within(self.entry_spaces(entry), own_task))
            if is_seen and self._is_told(caller, entry, kind):
                found[kind, entry["id"]] = entry["content"]
        return found

    def _is_own(self, caller: Caller, entry: dict[str, Any]) -> bool:
        if caller.viewer == "user":
            return ":web:" in (entry["key"] or "") and caller.access.actor_id == PEOPLE[0]
        unplaced = not (entry["topic_id"] or entry["task_id"] or entry["space_id"])
        is_here = caller.viewer == "agent" and entry["key"] is not None and entry["key"] == caller.session
        return is_here and (unplaced or ":web:" in entry["key"])

    def _is_told(self, caller: Caller, entry: dict[str, Any], kind: str) -> bool:
        if caller.sandboxed and entry["key"] != str(caller.access.current):
            return False
        is_sorted = entry["topic_id"] is not None or entry["task_id"] is not None
        on_board = is_sorted and (entry["key"] is None or entry["task_id"] is None)
        if kind == "note" or caller.viewer == "owner":
            return True
        if caller.viewer == "user":
            return on_board or ":web:" not in (entry["key"] or "") or caller.access.actor_id == PEOPLE[0]
        # A lane recalls itself, lanes of a task what belongs to it; outside of a run an agent looks at the board.
        is_of_task = caller.task_id is not None and entry["task_id"] == caller.task_id
        is_own = caller.session is not None and (entry["key"] or entry["bucket"]) == caller.session
        return is_own or is_of_task or on_board


@asynccontextmanager
async def open_worlds(url: str, seed: int) -> AsyncIterator[tuple[World, World]]:
    """Two accounts on one store that share every key and id, since both make the same random steps at the beginning."""
    async with open_engine(url) as engine:
        observe_entries(engine.db)
        other = await engine.another_account("other")
        worlds = [World(engine, system_access(each.account_id, each.account_slug), random.Random(seed))
                  for each in (engine.access, other)]  # fmt: skip
        for world in worlds:
            await engine.make_agent("other", world.access)
            await world.furnish()
        yield worlds[0], worlds[1]
