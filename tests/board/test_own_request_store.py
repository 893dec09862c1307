"""What a host records of our own requests and sends back to us: it causes no work, however it is called there."""

from collections.abc import Callable

import pytest

from carrel.board import Classifier, Ingests, LogSource, NewLog, accept, is_unrecorded
from carrel.journal.store import entries_since
from carrel.kernel import Echoes
from carrel.kernel.settings import IntakeSettings
from tests.board.classifier.test_duty import asked_for, obliging, with_model
from tests.board.places import Board
from tests.scripted_gateway import Answer, Request, ScriptedGateway

BUCKET = "discord-4711"
HOUR = 3_600
# How hosts may write the address of a request.
SPELLINGS = (
    "{}",
    "agent:main:{}",
    "openclaw:agent:main:{}",
    "agent:main:carrel:{}",
    "AGENT:MAIN:{}",
    "{}|thread:9",
    "agent:main:telegram:group:1:{}",
)


class Recorder:
    """A host that records each turn of a model, ours as well, and sends it to us after the fact."""

    def __init__(self, board: Board, key_of: Callable[[str], str], change: Callable[[str], str] = str) -> None:
        self._board = board
        self._key_of = key_of
        self._change = change
        self._heard: list[NewLog] = []

    def answer(self, request: Request) -> Answer:
        """Answer, and record question and answer, both also in the name of a person."""
        answer = obliging(request)
        source = LogSource(session_key=self._key_of(request.headers["x-openclaw-session-key"]))
        for said in (asked_for(request), answer.output[0]["content"][0]["text"]):
            for agent in ("user", "main"):
                log = NewLog(type="conversation", content=self._change(said), agent_id=agent, source=source)
                self._heard.append(log)
        return answer

    async def go_on(self, classifier: Classifier, turns: int) -> None:
        """Let so many turns pass; before each, everything recorded has been sent."""
        for _ in range(turns):
            heard, self._heard = self._heard, []
            await self._board.db.write(lambda tx: accept(tx, self._board.access, heard, IntakeSettings()))  # noqa: B023
            await Ingests(self._board.db).round()
            await self._board.sort(classifier)


async def test_a_host_that_records_under_any_key_makes_us_ask_once_for_one_message(
    board: Board, gateway: ScriptedGateway
) -> None:
    recorder = Recorder(board, lambda address: f"some host:{len(address)}")
    classifier = await with_model(board, gateway, recorder.answer)
    await board.send("Please plan the garden: which vegetables grow near the wall?", BUCKET)
    await recorder.go_on(classifier, 40)
    sorting = [one for one in gateway.requests if ":digest:" not in one.headers["x-openclaw-session-key"]]
    assert (len(sorting), len(gateway.requests) <= 2) == (1, True), "and one digest of what was said, at most"


async def test_an_answer_that_a_host_records_is_not_sorted(board: Board, gateway: ScriptedGateway) -> None:
    recorder = Recorder(board, lambda _: "some host")
    classifier = await with_model(board, gateway, recorder.answer)
    await board.send("Please plan the garden: which vegetables grow near the wall?", BUCKET)
    await recorder.go_on(classifier, 3)
    found = await board.db.read(lambda tx: entries_since(tx, board.access, 0, limit=100))
    back = [entry for entry in found if entry.bucket == "some host"]
    assert back
    assert {entry.classification_error for entry in back} == {"filtered_own_request"}
    assert not any(Echoes.is_request(entry.content) for entry in found), "questions are not even stored"


async def test_what_feeds_on_our_requests_in_other_words_costs_so_much_an_hour_and_no_more(
    board: Board, gateway: ScriptedGateway
) -> None:
    numbers = iter(range(10_000))

    def reworded(said: str) -> str:
        return f"Number {next(numbers)} of the vegetables: {said.replace(Echoes.MARK, '').replace('{', '(')}"

    recorder = Recorder(board, lambda _: f"some host {next(numbers)}", reworded)
    classifier = await with_model(board, gateway, recorder.answer, model_calls_per_hour=8)
    await board.send("Please plan the garden: which vegetables grow near the wall?", BUCKET)
    await recorder.go_on(classifier, 20)
    assert len(gateway.requests) <= 10, "those of the hour, and the digests of the last turn"
    assert await board.pending() == 0, "rules have sorted the rest"
    board.engine.advance(HOUR)
    await board.send("Another day: paint the fence, and then the gate, please.", "another")
    before = len(gateway.requests)
    await board.sort(classifier)
    assert len(gateway.requests) > before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "address", ["internal:clawboard-classifier:cyc_1:1", "agent:writer:task:T-1:v2@acme", "agent:main:subagent:u-1:v1"]
)
def test_sessions_of_ours_are_known_however_they_are_written(spelling: str, address: str) -> None:
    log = NewLog(type="conversation", content="hello", source=LogSource(session_key=spelling.format(address)))
    assert is_unrecorded(log, IntakeSettings(ignore_session_prefixes=()))


@pytest.mark.parametrize(
    "key",
    ["agent:main:main", "agent:main:discord:group:v1", "channel:carrel", "agent:carrel:main", "discord-v2", "v1"],
)
def test_sessions_of_others_are_recorded(key: str) -> None:
    log = NewLog(type="conversation", content="hello", source=LogSource(session_key=key))
    assert not is_unrecorded(log, IntakeSettings())


def test_a_prefix_that_is_ignored_is_found_behind_the_agent_of_another_system() -> None:
    log = NewLog(type="conversation", content="hello", source=LogSource(session_key="agent:main:private:1"))
    assert is_unrecorded(log, IntakeSettings(ignore_session_prefixes=("private:",)))
