"""Who is notified of a message or a move: the whole matrix, against rules written down a second time."""

from itertools import product

import pytest
from msgspec import structs

from carrel.notices import Recipient
from carrel.work.audience import Audience
from carrel.work.mentions import MentionShape
from carrel.work.model import MOVES, Party, PartyKind, Task
from tests.requirements.mark import requirement

TASK = Task(
    id="task_1", seq=1, space_id="space-default", title="t", description="", status="in_progress", priority=3, tags=(),
    metadata={}, created_by="user", created_at=0, updated_at=0, status_at=0,
)  # fmt: skip
CHIEF = "chief"
AUTHORS: list[tuple[PartyKind, str]] = [("user", "ada"), ("agent", "author"), ("agent", CHIEF)]
ANSWERS = (None, "mention", "assignment", "thread_update", "response_request")


def party(kind: PartyKind, name: str, *, assigned: bool = False, subscribed: bool = True) -> Party:
    return Party(task_id="task_1", kind=kind, party_id=name, assigned_at=1 if assigned else None, subscribed=subscribed)


PARTIES = (
    party("user", "ada"), party("user", "bob"), party("user", "boss", assigned=True),
    party("user", "stranger", subscribed=False),
    party("agent", "author"), party("agent", "follower"), party("agent", "reviewer"),
    party("agent", "worker", assigned=True), party("agent", "outsider", subscribed=False),
)  # fmt: skip


def audience(status: str, *, is_chat: bool = False) -> Audience:
    task = structs.replace(TASK, status=status, is_chat=is_chat)
    return Audience(task=task, parties=PARTIES, orchestrator=CHIEF, reviewers=frozenset({"reviewer"}))


def gets_update(agent: str, author: tuple[PartyKind, str], status: str, answers: str | None, *, is_chat: bool) -> bool:
    """The rule for an agent that a message does not mention, where it mentions no agent at all."""
    if is_chat:
        return agent == CHIEF
    if agent == "outsider" or status in ("done", "blocked", "archived"):
        return False
    if author[0] == "user":
        return True
    concerned = agent == "worker" or (agent == "reviewer" and status == "review")
    if author[1] == CHIEF:
        return concerned
    if answers == "thread_update" or (answers == "assignment" and agent == "worker"):
        return False
    return concerned or agent == CHIEF


@requirement("S0.fanout.thread", "S0.x.loop", "S0.orch.fanout")
@pytest.mark.parametrize(("author", "status", "is_chat"), [*product(AUTHORS, MOVES, (False, True))])
def test_a_message_reaches_exactly_those_it_concerns(author: tuple[PartyKind, str], status: str, is_chat: bool) -> None:
    people = {"ada", "bob", "boss"} - {author[1]}
    agents = {"author", "follower", "reviewer", "worker", "outsider", CHIEF} - {author[1]}
    for answers in ANSWERS:
        found = audience(status, is_chat=is_chat).of_message(author, answers=answers)
        assert len(set(found)) == len(found)
        assert {each.type for each in found} <= {"thread_update"}
        assert {each.id for each in found if each.kind == "user"} == people
        expected = {agent for agent in agents if gets_update(agent, author, status, answers, is_chat=is_chat)}
        assert {each.id for each in found if each.kind == "agent"} == expected, answers


@requirement("S0.fanout.mention", "S0.orch.fanout")
@pytest.mark.parametrize(("status", "is_chat"), [*product(MOVES, (False, True))])
def test_a_mention_reaches_who_is_meant_once_and_silences_the_other_agents(status: str, is_chat: bool) -> None:
    mentions = [
        MentionShape(kind="agent", id="outsider"),
        MentionShape(kind="agent", id="worker"),
        MentionShape(kind="user", id="stranger"),
        MentionShape(kind="user", id="ada"),
    ]
    found = audience(status, is_chat=is_chat).of_message(("user", "ada"), mentions)
    mentioned = {each.id for each in found if each.type == "mention"}
    agents_hear = status != "archived" and not is_chat
    assert mentioned == {"stranger"} | ({"outsider", "worker"} if agents_hear else set())
    updated = {each.id for each in found if each.type == "thread_update"}
    assert updated == {"bob", "boss"} | ({CHIEF} if is_chat else set())
    to_chief = audience(status, is_chat=is_chat).of_message(("user", "ada"), [MentionShape(kind="agent", id=CHIEF)])
    assert (Recipient("agent", CHIEF, "mention") in to_chief) == (is_chat or status != "archived")


def test_mentioning_only_people_silences_no_agent() -> None:
    found = audience("in_progress").of_message(("user", "ada"), [MentionShape(kind="user", id="bob")])
    assert Recipient("agent", "worker", "thread_update") in found
    assert Recipient("user", "bob", "mention") in found


@requirement("S0.fanout.status", "S0.x.archive.quiet")
@pytest.mark.parametrize("after", MOVES)
def test_a_move_reaches_the_assignees_but_not_who_made_it(after: str) -> None:
    asked = audience(after)
    by_ada = {(each.kind, each.id) for each in asked.of_move(("user", "ada"), after)}
    agents = {"done": set(), "blocked": set(), "archived": set(), "review": {CHIEF}}.get(after, {"worker"})
    assert by_ada == {("user", "boss")} | {("agent", agent) for agent in agents}
    assert {each.type for each in asked.of_move(("user", "ada"), after)} == {"status_change"}
    assert ("user", "boss") not in {(each.kind, each.id) for each in asked.of_move(("user", "boss"), after)}
    assert ("agent", "worker") not in {(each.kind, each.id) for each in asked.of_move(("agent", "worker"), after)}


def test_an_assignee_that_may_review_hears_of_the_review() -> None:
    asked = structs.replace(audience("review"), reviewers=frozenset({"worker"}))
    assert Recipient("agent", "worker", "status_change") in asked.of_move(("user", "ada"), "review")


def test_without_an_orchestrator_nobody_stands_in_for_it() -> None:
    asked = structs.replace(audience("in_progress"), orchestrator=None)
    assert CHIEF not in {each.id for each in asked.of_message(("user", "ada"))}
    chat = structs.replace(audience("in_progress", is_chat=True), orchestrator=None)
    assert {each.kind for each in chat.of_message(("user", "ada"))} == {"user"}
