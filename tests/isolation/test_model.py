"""The rules of isolation by example, and that a difference is found where there is one."""

from dataclasses import replace

import pytest

from tests.isolation.checks import parted
from tests.isolation.facts import Agent, Facts, Lane, Person
from tests.isolation.marks import Marks, Origin
from tests.isolation.model import (
    Turn,
    sees_lane,
    why_closed_to_person,
    why_hidden_from_agent,
    why_hidden_from_client,
    why_hidden_from_person,
    why_hidden_from_turn,
    why_not_steered,
)

ANNS, BOBS, MAIN = "agent:main:web:ann", "agent:main:web:bob", "agent:main:main"
ONE, TWO = "agent:main:task:one", "agent:writer:task:two"
CHILD = "agent:writer:subagent:11111111-1111-4111-8111-111111111111"
OWNER, ANN, BOB = Person("owner", is_owner=True), Person("ann"), Person("bob")
LIM = Person("lim", spaces=frozenset({"red"}))
SAID = Origin("default", "message", by="ann", lane=ANNS)
THREAD = Origin("default", "thread message", by="owner", task="one", space="blue")
NOTE = Origin("default", "note", by="owner", space="blue", kept=True)


@pytest.fixture
def facts() -> Facts:
    lanes = [
        Lane(ANNS, person="ann"), Lane(BOBS, person="bob"), Lane(MAIN), Lane(ONE, task="one"), Lane(TWO, task="two"),
        Lane(CHILD, parent=ANNS),
    ]  # fmt: skip
    return Facts(
        "default",
        people={person.name: person for person in (OWNER, ANN, BOB, LIM)},
        agents={"main": Agent("main"), "writer": Agent("writer", spaces=frozenset({"red"}))},
        lanes={lane.key: lane for lane in lanes},
        tasks={"one": "blue", "two": "red"},
    )


def person_sees(facts: Facts, person: Person, origin: Origin) -> bool:
    return why_hidden_from_person(facts, person, "", origin) is None


def turn_sees(facts: Facts, turn: Turn, origin: Origin, *, now: bool = False) -> bool:
    return why_hidden_from_turn(facts, turn, "", origin, now=now) is None


def test_a_chat_and_what_was_spawned_from_it_is_for_its_person_and_the_owner(facts: Facts) -> None:
    for said in (SAID, replace(SAID, by="", lane=CHILD)):
        assert [person_sees(facts, person, said) for person in (OWNER, ANN, BOB)] == [True, True, False]
    assert person_sees(facts, BOB, replace(SAID, by="owner", lane=MAIN))


def test_a_limited_person_sees_nothing_of_a_hidden_space_and_nobody_another_account(facts: Facts) -> None:
    assert not person_sees(facts, LIM, THREAD)
    assert person_sees(facts, LIM, replace(THREAD, space="red"))
    assert not person_sees(facts, OWNER, replace(NOTE, account="other"))


def test_what_is_said_stays_in_its_lane_or_in_the_lanes_of_its_task(facts: Facts) -> None:
    assert turn_sees(facts, Turn(ANNS), SAID)
    assert not any(turn_sees(facts, Turn(lane), SAID) for lane in (BOBS, MAIN, ONE, CHILD))
    assert turn_sees(facts, Turn(ONE), THREAD)
    assert turn_sees(facts, Turn(ANNS), replace(SAID, by="", lane=CHILD)), "a sub-agent answers the lane it came from"
    assert not turn_sees(facts, Turn(MAIN), THREAD)
    assert not turn_sees(facts, Turn(ANNS, task="one"), THREAD), "a chat is no lane of the task that it names"


def test_what_is_kept_travels_within_the_spaces_of_the_agent_and_of_whoever_caused_the_run(facts: Facts) -> None:
    assert turn_sees(facts, Turn(BOBS), NOTE)
    assert turn_sees(facts, Turn(BOBS, cause=BOB), NOTE)
    assert not turn_sees(facts, Turn(BOBS, cause=LIM), NOTE)
    assert not turn_sees(facts, Turn(TWO), NOTE)


def test_memory_of_a_chat_is_for_that_chat_and_the_own_lanes_of_its_goals_tasks(facts: Facts) -> None:
    facts.goals["goal"], facts.goal_of["one"] = ANNS, "goal"
    of_session = Origin("default", "session fact", by="ann", lane=ANNS)
    of_goal = Origin("default", "goal fact", by="ann", lane=ANNS, goal="goal")
    for fact in (of_session, of_goal):
        assert turn_sees(facts, Turn(ANNS), fact)
        assert turn_sees(facts, Turn(ONE, task="one"), fact)
        assert not turn_sees(facts, Turn(ONE, task="one", cause=BOB), fact)
        assert not turn_sees(facts, Turn(BOBS, task="one"), fact)
        assert not person_sees(facts, BOB, fact)
    of_task = Origin("default", "task fact", by="ann", task="one", space="blue")
    assert turn_sees(facts, Turn(BOBS, task="one"), of_task)
    assert not turn_sees(facts, Turn(BOBS), of_task)


def test_only_its_person_puts_a_chat_on_the_board_and_takes_it_back(facts: Facts) -> None:
    facts.recall, facts.recall_of["main"] = "space", "space"
    assert not turn_sees(facts, Turn(BOBS), SAID)
    assert turn_sees(facts, Turn(BOBS), replace(SAID, by="owner", lane=MAIN)), "an agent's lane is on it with the agent"
    facts.lanes[ANNS] = Lane(ANNS, person="ann", recall="space", was_shared=True)
    assert turn_sees(facts, Turn(BOBS), SAID)
    assert person_sees(facts, BOB, SAID)
    facts.lanes[ANNS].recall = "own"
    assert not turn_sees(facts, Turn(BOBS), SAID, now=True)
    assert turn_sees(facts, Turn(BOBS), SAID), "what was shown then stays in the receipts of then"


def test_a_board_chat_and_a_moved_entry_are_shared(facts: Facts) -> None:
    facts.lanes["agent:main:topic:roof"] = Lane("agent:main:topic:roof", is_board=True)
    assert turn_sees(facts, Turn(BOBS), replace(SAID, lane="agent:main:topic:roof"))
    facts.moved.add("zqaaaaa")
    assert why_hidden_from_turn(facts, Turn(BOBS), "zqaaaaa", SAID) is None


@pytest.mark.parametrize(
    ("mode", "seen"),
    [("self", {ANNS}), ("tree", {ANNS, CHILD}), ("agent", {ANNS, CHILD, BOBS, MAIN, ONE})],
)
def test_an_agent_sees_lanes_by_its_rule(facts: Facts, mode: str, seen: set[str]) -> None:
    agent = Agent("main", mode)
    assert {key for key in facts.lanes if sees_lane(facts, agent, ANNS, key)} == seen
    assert why_hidden_from_agent(facts, agent, Turn(MAIN), "", replace(SAID, lane="agent:writer:main")) is not None


def test_a_sandbox_narrows_and_only_agents_that_see_one_another_see_all(facts: Facts) -> None:
    assert not sees_lane(facts, Agent("main", "all", sandboxed=True), MAIN, ONE)
    assert not sees_lane(facts, Agent("main", "all"), MAIN, TWO)
    facts.together = True
    assert sees_lane(facts, Agent("main", "all"), MAIN, TWO)


def test_a_run_reads_no_chat_of_others_for_the_person_who_caused_it(facts: Facts) -> None:
    agent = Agent("main", "all")
    assert why_hidden_from_agent(facts, agent, Turn(MAIN, cause=OWNER), "", SAID) is None
    assert why_hidden_from_agent(facts, agent, Turn(MAIN, cause=BOB), "", SAID) is not None


def test_a_program_sees_what_it_opened(facts: Facts) -> None:
    facts.lanes["agent:main:a2a:x:y"] = Lane("agent:main:a2a:x:y", client="program")
    assert why_hidden_from_client(facts, "program", replace(SAID, lane="agent:main:a2a:x:y")) is None
    assert why_hidden_from_client(facts, "program", SAID) is not None
    assert why_hidden_from_client(facts, "program", NOTE) is not None


def test_a_copy_is_its_makers_until_they_put_it_on_the_board(facts: Facts) -> None:
    fork = "agent:main:web:fork"
    facts.lanes[fork] = Lane(fork, person="bob")
    facts.copies["zqaaaaa"] = {fork}
    said = replace(SAID, by="", lane=TWO, space="blue")
    hidden = [why_hidden_from_person(facts, person, "zqaaaaa", said) for person in (BOB, LIM)]
    assert hidden[0] is None
    assert hidden[1] is not None
    assert why_hidden_from_turn(facts, Turn(fork, cause=BOB), "zqaaaaa", said) is None
    assert why_hidden_from_turn(facts, Turn(MAIN), "zqaaaaa", said) is not None
    facts.lanes[fork].recall = "space"
    assert why_hidden_from_person(facts, LIM, "zqaaaaa", said) is None
    assert why_hidden_from_turn(facts, Turn(MAIN), "zqaaaaa", said) is None


def test_people_enter_their_own_chats_and_what_they_share(facts: Facts) -> None:
    assert [why_closed_to_person(facts, ANN, key) is None for key in (ANNS, CHILD, BOBS, MAIN, ONE)] == [
        True, True, False, True, True,
    ]  # fmt: skip
    assert [why_closed_to_person(facts, LIM, key) is None for key in (MAIN, ONE, TWO)] == [True, False, True]
    assert why_closed_to_person(facts, OWNER, BOBS) is None


def test_people_speak_into_runs_that_they_have_caused_and_the_owner_into_all(facts: Facts) -> None:
    assert why_not_steered(facts, ANN, Turn(MAIN, cause=ANN)) is None
    assert why_not_steered(facts, ANN, Turn(MAIN, cause=BOB)) is not None
    assert why_not_steered(facts, ANN, Turn(MAIN)) is not None
    assert why_not_steered(facts, ANN, Turn(BOBS, cause=ANN)) is not None
    assert why_not_steered(facts, OWNER, Turn(BOBS, cause=BOB)) is None


def test_marks_are_found_in_any_text_and_lead_to_their_origin() -> None:
    marks = Marks()
    first, second = marks.new(SAID), marks.new(NOTE)
    assert first != second
    assert marks.found(f'{{"name": "{first.title()}s"}} zqzzzzz') == {first}
    assert marks.origins[second] == NOTE


def test_what_a_run_read_by_name_is_parted_from_what_it_was_shown() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "sessions_history"}
    found = {"type": "function_call", "call_id": "b", "name": "clawboard_search"}
    outputs = [{"type": "function_call_output", "call_id": name, "output": f"by {name}"} for name in "ab"]
    read, shown = parted({"instructions": "do", "input": [{"role": "user", "content": "hi"}, call, found, *outputs]})
    assert ("by a" in read, "by b" in read) == (True, False)
    assert ("by a" in shown, "by b" in shown, "hi" in shown) == (False, True, True)
