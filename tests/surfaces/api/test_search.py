"""Search over the API: what is found, from where, by whom, and when the server is busy."""

import asyncio
import threading
from typing import Any

import httpx

from carrel.access import make_space
from carrel.board import LogSource, NewLog, record
from carrel.kernel import Access
from carrel.kernel.settings import SearchSettings, Settings
from carrel.storage import LongTx, Tx
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task
from tests.harness.engine import SECONDS_MAX, within
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import Json, refused, send_and_wait

KINDS = ("topics", "tasks", "logs", "notes")


async def furnish(server: HttpServer, access: Access | None = None) -> None:
    """A board with something about a gasket of each kind, in the space `work`; and once more in the default space."""
    owner = access or server.access

    def work(tx: Tx) -> None:
        make_space(tx, owner, "Work")
        make_space(tx, owner, "Home")
        put_topic(tx, owner, NewTopic(id="topic-work", name="Gasket supply", space_id="space-work"))
        put_topic(tx, owner, NewTopic(id="topic-home", name="Garden", space_id="space-home"))
        create_task(tx, owner, NewTask(id="task-work", title="Order a gasket", topic_id="topic-work"), server.rules)
        for kind, name in (("conversation", "log-work"), ("note", "note-work")):
            said = "We need a gasket of copper" if kind == "conversation" else "The gasket is 40 mm wide"
            record(tx, owner, NewLog(id=name, type=kind, content=said, topic_id="topic-work", source=LogSource()))  # type: ignore[arg-type]
        at = LogSource(session_key="channel:9")
        record(tx, owner, NewLog(id="log-loose", type="conversation", content="A loose gasket", source=at))

    await server.db.write(work)
    await server.indexed(owner)


async def search(client: httpx.AsyncClient, **query: Any) -> Json:
    answer = await client.get("/api/search", params={"q": "gasket", **query})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def ids(found: Json) -> set[str]:
    return {hit["id"] for kind in KINDS for hit in found[kind]}


@requirement("S4.search.hybrid")
async def test_topics_tasks_entries_and_notes_are_found_with_scores_and_reasons(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    await furnish(either_server)
    found = await search(on_either)
    assert (found["query"], found["mode"], found["searchMeta"]["dense"]) == ("gasket", "hybrid", True)
    assert [[hit["id"] for hit in found[kind]] for kind in KINDS[:2]] == [["topic-work"], ["task-work"]]
    assert {hit["id"] for hit in found["logs"]} == {"log-work", "log-loose"}
    assert [hit["id"] for hit in found["notes"]] == ["note-work"]
    assert (found["matchedTopicIds"], found["matchedTaskIds"]) == (["topic-work"], ["task-work"])
    assert found["matchedLogIds"] == [hit["id"] for hit in found["logs"]]
    for hit in (hit for kind in KINDS for hit in found[kind]):
        assert 0 < hit["score"] <= 1
        assert set(hit["reason"]) == {"words", "meaning", "note", "session", "label"}
    assert found["topics"][0]["name"] == "Gasket supply"
    assert found["logs"][0]["content"]


@requirement("S4.search.hybrid")
async def test_without_embeddings_words_alone_are_searched_and_the_answer_says_so(surface_url: str) -> None:
    settings = Settings(search=SearchSettings(embedding="none"))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await furnish(server)
        found = await search(client)
        assert (found["mode"], found["searchMeta"]["dense"]) == ("lexical", False)
        assert "log-work" in ids(found)
        assert (await client.get("/api/health")).json()["index"]["mode"] == "lexical"
        assert (await client.get("/readyz")).json()["checks"]["search"] == "ok", "it was asked for"


@requirement("S4.search.params")
async def test_a_question_has_1_to_500_characters_and_limits_are_clamped(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    for query in ({}, {"q": ""}, {"q": "  "}, {"q": "x" * 501}):
        assert refused(await client.get("/api/search", params=query)) == (400, "invalid_params", "q")
    assert refused(await client.get("/api/search", params={"q": "x", "limit": 3})) == (400, "invalid_params", "limit")
    await furnish(server)
    assert ids(await search(client, q="gasket" + " x" * 200)) >= {"log-work"}
    assert len((await search(client, limitLogs=0))["logs"]) == 1
    assert len((await search(client, limitLogs=1_000_000))["logs"]) == 2
    assert ids(await search(client, topicId="topic-work")) == {"topic-work", "task-work", "log-work", "note-work"}
    assert ids(await search(client, topicId="topic-home")) == set()


@requirement("S4.search.scope")
@requirement("S4.space.infer.where")
async def test_a_space_is_given_or_follows_from_the_session_and_limits_what_is_found(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await furnish(server)
    home = await search(client, allowedSpaceIds="space-home")
    assert (ids(home), home["searchMeta"]["allowedSpaceIds"]) == (set(), ["space-home"])
    work = await search(client, spaceId="space-work", allowedSpaceIds="space-work,space-home")
    assert ids(work) == {"topic-work", "task-work", "log-work", "note-work"}
    assert (work["searchMeta"]["sourceSpaceId"], work["searchMeta"]["resolvedFrom"]) == ("space-work", "spaceId")
    keyed = await search(client, sessionKey="clawboard:topic:topic-home", allowedSpaceIds="space-home")
    assert (ids(keyed), keyed["searchMeta"]["resolvedFrom"]) == (set(), "boardKey")
    everything = (await search(client))["searchMeta"]
    assert (everything["sourceSpaceId"], everything["allowedSpaceIds"]) == (None, None)


@requirement("S4.search.stable")
async def test_a_search_answers_the_same_whether_or_not_contexts_are_asked_for(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await furnish(server)
    before = await search(client, q="what of the gasket?")
    for mode in ("cheap", "full", "patient"):
        answer = await client.get("/api/context", params={"q": "what of the gasket?", "mode": mode})
        assert answer.status_code == 200, answer.text
    after = await search(client, q="what of the gasket?")
    assert {name: after[name] for name in KINDS} == {name: before[name] for name in KINDS}


@requirement("S4.search.busy")
async def test_a_search_too_many_is_told_to_come_back(surface_url: str) -> None:
    settings = Settings(search=SearchSettings(concurrency=1, concurrency_wait_ms=20))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        await furnish(server)
        free, began, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

        def hold(_: LongTx) -> bool:
            loop.call_soon_threadsafe(began.set)
            return free.wait(SECONDS_MAX)

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(server.db.long_read(hold, urgent=False))
            await within(began.wait())
            asked = [group.create_task(client.get("/api/search", params={"q": "gasket"})) for _ in range(3)]
            async with server.client(server.other_owner) as stranger:
                alone = group.create_task(stranger.get("/api/search", params={"q": "gasket"}))
                answers = asyncio.as_completed(asked, timeout=SECONDS_MAX)
                for _ in range(2):
                    answer = await next(answers)
                    assert refused(answer) == (429, "search_busy", None)
                    assert int(answer.headers["Retry-After"]) >= 1
                free.set()
                assert "log-work" in ids((await next(answers)).json())
                assert (await within(alone)).status_code == 200, "nobody is refused because of another"


async def test_another_account_with_the_same_ids_finds_only_its_own(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await furnish(server)
    assert ids(await search(other_client)) == set()
    await furnish(server, await server.access_of(server.other_owner))
    assert ids(await search(other_client)) == ids(await search(client))
    await client.delete("/api/tasks/task-work")
    await server.db.write(lambda tx: tx.run("UPDATE entries SET content = 'valve' WHERE id = 'log-work'"
                                            " AND account_id = :account", server.access))  # fmt: skip
    assert "log-work" in ids(await search(other_client))


@requirement("S4.context.lane.session")
async def test_an_agent_finds_what_is_on_the_board_and_what_its_own_session_said(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    await furnish(server)
    await send_and_wait(client, "my own gasket", sessionKey="agent:main:main")
    await send_and_wait(client, "a gasket elsewhere", sessionKey="agent:main:hook:far")
    await server.indexed()
    token = await server.token(client, kind="agent", agentId="main")
    async with server.client(token) as agent:
        found = await search(agent)
        assert {"topic-work", "task-work", "log-work", "note-work"} <= ids(found)
        assert "log-loose" not in ids(found)
        own = [hit["content"] for hit in found["logs"] if hit["sessionKey"] == "agent:main:main"]
        assert "my own gasket" in own
        assert not any("elsewhere" in hit["content"] for hit in found["logs"])
        # A name that is no session of ours is nobody's: whoever knows it looks from there.
        assert "log-loose" in ids(await search(agent, sessionKey="channel:9"))
    people = await search(client)
    assert any("elsewhere" in hit["content"] for hit in people["logs"])
    await client.post("/api/agents", json={"id": "other", "name": "Other"})
    stranger = await server.token(client, kind="agent", agentId="other")
    async with server.client(stranger) as agent:
        hidden = await agent.get("/api/search", params={"q": "gasket", "sessionKey": "agent:main:main"})
        assert refused(hidden)[:2] == (403, "forbidden")


@requirement("S4.search.index")
async def test_an_owner_rebuilds_the_index_or_a_part_of_it(server: HttpServer, client: httpx.AsyncClient) -> None:
    await furnish(server)

    def lose(tx: Tx) -> None:
        tx.run("DELETE FROM search_documents WHERE account_id = :account", server.access)

    await server.db.write(lose)
    assert ids(await search(client)) == set()
    for body, back in (
        ({"kind": "log", "id": "log-work"}, {"log-work"}),
        ({"kind": "topic"}, {"log-work", "topic-work"}),
        ({"kind": "all"}, {"log-work", "topic-work", "task-work", "note-work", "log-loose"}),
    ):
        assert (await client.post("/api/reindex", json=body)).status_code == 202
        await server.indexed()
        assert ids(await search(client)) == back
    index = (await client.get("/api/health")).json()["index"]
    assert index == {"lagSeconds": 0, "pending": 0, "mode": "hybrid"}
    assert refused(await client.post("/api/reindex", json={"kind": "all", "id": "x"})) == (400, "invalid_params", "id")
    assert refused(await client.post("/api/reindex", json={"kind": "x"})) == (400, "invalid_params", "kind")
    user = await server.token(client, kind="agent", agentId="main")
    async with server.client(user) as agent:
        assert refused(await agent.post("/api/reindex", json={"kind": "all"}))[:2] == (403, "forbidden")
