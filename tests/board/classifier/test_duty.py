"""Every entry ends classified or failed: without a model, and with one that fails in whatever way."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from carrel.board import Classifier, LogChange, Model, change_entry
from carrel.gateway import open_gateway
from carrel.kernel.settings import ClassifierSettings, GatewaySettings
from carrel.topics import TopicChange, change_topic
from carrel.wire import Wire
from tests.board.classifier.test_sorter import BUCKET, how, placed, spoken
from tests.board.places import Board, open_board
from tests.harness.engine import MAIN
from tests.requirements.mark import requirement
from tests.scripted_gateway import MODEL, Answer, Gate, Request, ScriptedGateway, dropped, http_error, text

SUBJECTS = ("garden fence", "invoice import", "trip to Lisbon", "quarterly report", "choir concert")
SAYINGS = (
    "please look at the {}", "TODO: finish the {}", "the {} is late again", "what about the {}?", "hello", "yes", "",
)  # fmt: skip
ATTEMPTS_MAX = 3


@pytest.fixture
async def sqlite_board(sqlite_url: str) -> AsyncIterator[Board]:
    async with open_board(sqlite_url) as opened:
        yield opened


async def fill(board: Board, count: int, seed: int = 7) -> None:
    """Send all kinds of entries in all kinds of sessions, from people, agents and timers."""
    chance = random.Random(seed)
    spaces = [None, await board.space("Home"), await board.space("Work")]
    topics = [
        await board.topic(subject.title(), space_id=chance.choice(spaces) or "space-default")
        for subject in SUBJECTS[:3]
    ]
    known, gone = f"clawboard:topic:{topics[0]}", "clawboard:task:gone:gone"
    keys = [BUCKET, "channel:7", "agent:bob:subagent:1", known, gone, None]
    for _ in range(count):
        content = chance.choice(SAYINGS).format(chance.choice(SUBJECTS))
        if chance.random() < 0.3:
            kind, author = chance.choice([("external_user", "user"), ("cron", "system"), ("inter_session", "main")])
            role = chance.choice(["user", "assistant", "toolCall", "system"])
            type_ = "action" if role == "toolCall" else "system" if role == "system" else "conversation"
            await spoken(board, content, kind=kind, role=role, author=author, type_=type_, key=str(MAIN))
        else:
            more: dict[str, Any] = {"type": chance.choice(["conversation", "conversation", "note", "action", "import"])}
            more |= {"agent_id": "main"} if chance.random() < 0.4 else {}
            await board.send(content or "👍", chance.choice(keys), space_id=chance.choice(spaces), **more)


async def ends(board: Board) -> Counter[tuple[str, str | None]]:
    """Return how all entries ended, and check that none was tried too often or sorted into another space."""
    sql = (
        "SELECT e.classification, e.classification_error, e.classification_attempts, e.space_id, o.space_id, e.bucket "
        "FROM entries e LEFT JOIN topics o ON o.account_id = e.account_id AND o.id = e.topic_id "
        "WHERE e.account_id = :account"
    )
    rows = await board.db.read(lambda tx: tx.all(sql, board.access))
    assert max(row[2] for row in rows) <= ATTEMPTS_MAX
    assert all(row[4] is None for row in rows if row[1] == "unallocated")
    free = [row for row in rows if row[4] is not None and not (row[5] or "").startswith("clawboard:")]
    assert [row for row in free if row[4] != (row[3] or "space-default")] == []
    return Counter((row[0], row[1]) for row in rows)


@requirement("S4.x.classifier.creation")
async def test_hundreds_of_mixed_entries_all_end_without_a_model(board: Board) -> None:
    await fill(board, 300)
    await board.sort(turns=3)
    assert await board.pending() == 0
    counted = await ends(board)
    assert counted["classified", None] > 50
    assert counted["failed", "unallocated"] > 20
    assert not counted["failed", "attempts_exhausted"]


async def test_a_classifier_that_is_off_for_a_while_catches_up(board: Board) -> None:
    await fill(board, 60)
    for seed in range(3):
        await board.sort()
        await fill(board, 20, seed)
    await board.sort(turns=2)
    assert await board.pending() == 0


def sortings(gateway: ScriptedGateway) -> list[Request]:
    """Return the requests that asked where something belongs, not those for digests."""
    return [one for one in gateway.requests if ":digest:" not in one.headers["x-openclaw-session-key"]]


def asked_for(request: Request) -> str:
    """Return what a model was shown."""
    return str(request.json["input"][0]["content"][0]["text"])


def obliging(request: Request) -> Answer:
    """Answer with the first topic, or a new one, and a summary for each entry."""
    shown = asked_for(request)
    lines = [line for line in shown.partition("Entries:\n")[2].splitlines() if line]
    topic = {"topic": "T1"} if "T1:" in shown else {"newTopic": "Everything"}
    return text(json.dumps(topic | {"summaries": [f"summary {n}" for n in range(len(lines))]}))


async def with_model(
    board: Board, gateway: ScriptedGateway, rule: Callable[[Request], Answer], *, seconds_max: float = 20, **more: Any
) -> Classifier:  # fmt: skip
    """Return a classifier whose model answers by a rule."""
    gateway.rule = rule
    settings = GatewaySettings(kind="responses", base_url=gateway.base_url, model=MODEL)
    model = Model(open_gateway("default", settings, Wire()), MODEL, True, seconds_max)
    return board.classifier(lambda tx, access: model, classifier=ClassifierSettings(**more))


async def test_a_model_sorts_and_summarises(board: Board, gateway: ScriptedGateway) -> None:
    fence = await board.topic("Garden fence")
    asked = await board.send("It is rotten, I think", BUCKET)
    answer = await board.send("Which part?", BUCKET, agent_id="main")
    await board.sort(await with_model(board, gateway, obliging))
    for n, entry in enumerate((asked, answer)):
        assert (await placed(board, entry))[0] == fence
        assert (await board.entry(entry)).summary == f"summary {n}"
    (request,) = sortings(gateway)
    assert request.headers["x-openclaw-session-key"].startswith("internal:clawboard-classifier:")
    assert "x-openclaw-agent-id" not in request.headers
    assert "metadata" not in request.json


async def test_a_model_is_not_asked_where_there_is_nothing_to_think_about(
    board: Board, gateway: ScriptedGateway
) -> None:  # fmt: skip
    fence = await board.topic("Garden fence")
    for content, key in (("paint it", f"clawboard:topic:{fence}"), ("yes", BUCKET), ("Hello!", BUCKET)):
        await board.send(content, key)
    await board.send("The fence", "other", agent_id="main")
    await board.sort(await with_model(board, gateway, obliging))
    assert sortings(gateway) == []


@requirement("S4.alloc.space")
async def test_a_model_is_shown_no_topic_of_another_space_and_cannot_name_one(
    board: Board, gateway: ScriptedGateway
) -> None:  # fmt: skip
    home = await board.space("Home")
    secret = await board.topic("Divorce papers", space_id=home)
    entry = await board.send("Look for the papers", BUCKET)
    answers = iter([f'{{"topic": "{secret}"}}', '{"topic": "T1"}'])
    await board.sort(await with_model(board, gateway, lambda _: text(next(answers, "nothing"))), turns=3)
    assert not [one for one in sortings(gateway) if "Divorce" in asked_for(one)]
    assert (await placed(board, entry))[0] not in (None, secret)


async def test_a_topic_that_moves_to_another_space_while_a_model_thinks_is_not_chosen(
    board: Board, gateway: ScriptedGateway
) -> None:  # fmt: skip
    home, gate = await board.space("Home"), Gate()
    fence = await board.topic("Garden fence")
    entry = await board.send("It is rotten, I think", BUCKET)
    answers = iter([text(json.dumps({"topic": "T1"}), before=gate)])
    classifier = await with_model(board, gateway, lambda request: next(answers, None) or obliging(request))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        moved = TopicChange(space_id=home)
        await board.db.write(lambda tx: change_topic(tx, board.access, fence, moved))
        gate.open()
    assert (how(await board.entry(entry)), (await placed(board, entry))[0]) == (("pending", None), None)
    await board.sort(classifier)
    assert (await placed(board, entry))[0] not in (None, fence)


@pytest.mark.parametrize("status", ["pending", "classified", "failed"])
async def test_what_a_person_decides_while_a_model_thinks_stays_decided(
    board: Board, gateway: ScriptedGateway, status: Any
) -> None:  # fmt: skip
    gate, roof = Gate(), await board.topic("Roof")
    await board.topic("Garden fence")
    moved, kept = await board.send("It is rotten, I think", BUCKET), await board.send("And it is old", BUCKET)
    classifier = await with_model(board, gateway, lambda _: text(json.dumps({"newTopic": "Rot"}), before=gate))
    async with asyncio.TaskGroup() as group:
        group.create_task(board.sort(classifier))
        await gate.reached()
        change = LogChange(topic_id=roof, classification=status)
        await board.db.write(lambda tx: change_entry(tx, board.access, moved.id, change))
        change = LogChange(classification="failed")
        await board.db.write(lambda tx: change_entry(tx, board.access, kept.id, change))
        gate.open()
    assert ((await placed(board, moved))[0], (await board.entry(moved)).classification) == (roof, status)
    assert ((await placed(board, kept))[0], (await board.entry(kept)).classification) == (None, "failed")


NONSENSE = (
    "", "I would say it is about gardening.", '{"topic": 7}', '{"topic": "T99"}', "[" * 5_000,
    '{"a":' * 50_000 + "1" + "}" * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("said", NONSENSE, ids=range(len(NONSENSE)))
async def test_entries_end_by_rules_when_a_model_talks_nonsense(
    sqlite_board: Board, gateway: ScriptedGateway, said: str
) -> None:  # fmt: skip
    await fill(sqlite_board, 40)
    await sqlite_board.sort(await with_model(sqlite_board, gateway, lambda _: text(said)), turns=ATTEMPTS_MAX + 1)
    assert await sqlite_board.pending() == 0
    assert (await ends(sqlite_board))["classified", None] > 5


@pytest.mark.parametrize("failing", ["down", "refuses", "hangs up", "hangs"])
async def test_entries_end_by_rules_when_a_model_does_not_answer(
    sqlite_board: Board, gateway: ScriptedGateway, failing: str
) -> None:  # fmt: skip
    await fill(sqlite_board, 300)
    gate = Gate()
    answers = {"down": http_error(503), "refuses": http_error(401), "hangs up": dropped()}
    classifier = await with_model(
        sqlite_board, gateway, lambda _: answers.get(failing, text("x", before=gate)), seconds_max=0.3
    )
    # One more for what tells of the tasks that were made.
    await sqlite_board.sort(classifier, turns=ATTEMPTS_MAX + 1)
    gate.open()
    assert await sqlite_board.pending() == 0
    assert not (await ends(sqlite_board))["failed", "attempts_exhausted"]
    # Once it has failed, the rest of a turn does not wait for it.
    assert len(sortings(gateway)) <= ATTEMPTS_MAX


async def test_the_last_attempt_is_made_by_rules(board: Board, gateway: ScriptedGateway) -> None:
    entry = await board.send("Paint the garden fence", BUCKET)
    classifier = await with_model(board, gateway, lambda _: text("no idea"))
    for attempts in (1, 2):
        await board.sort(classifier)
        found = await board.entry(entry)
        assert (how(found), found.classification_attempts) == (("pending", None), attempts)
    await board.sort(classifier)
    found = await board.entry(entry)
    assert (how(found), found.classification_attempts) == (("classified", None), 3)
    assert len(sortings(gateway)) == 2


async def test_an_entry_that_cannot_be_sorted_at_all_keeps_no_other_from_it(sqlite_board: Board) -> None:
    board = sqlite_board
    refused = "BEFORE INSERT ON topics WHEN NEW.name LIKE '%poison%' BEGIN SELECT RAISE(ABORT, 'no'); END"
    await board.db.write(lambda tx: tx.run(f"CREATE TRIGGER refused {refused}"))
    poison = await board.send("Buy rat poison for the barn", BUCKET)
    other = await board.send("Book flights", BUCKET, space_id=await board.space("Home"))
    await board.sort()
    assert how(await board.entry(poison)) == ("pending", None)
    assert how(await board.entry(other)) == ("classified", None)
    await board.sort(turns=2)
    assert how(await board.entry(poison)) == ("failed", "attempts_exhausted")


async def test_attempts_are_a_setting(board: Board, gateway: ScriptedGateway) -> None:
    await board.send("Paint the garden fence", BUCKET)
    classifier = await with_model(board, gateway, lambda _: text("no idea"), attempts_max=1)
    await board.sort(classifier)
    assert (await board.pending(), sortings(gateway)) == (0, [])
