"""The steps of the walk. Each says what was seen, and can be made alone: it says everything itself that it needs."""

from collections import Counter
from collections.abc import Callable

from tests.docs.pages import matches
from tests.openclaw.backend_steps import two_agents_work_on_a_task_through_the_gateway
from tests.openclaw.gateway import TURN_SECONDS
from tests.openclaw.model import BLOCK, messages_of, words_of
from tests.openclaw.pair import Entry, Pair, guide_pieces
from tests.scripted_gateway import Gate, calls, text

Step = Callable[[Pair], str]
NOTE_TOOL = "clawboard_create_note"


def guide(pair: Pair) -> str:
    """Type what the guide shows, from an OpenClaw that runs to the pair at work."""
    pieces = guide_pieces()
    assert pieces, "the guide shows nothing to type"
    for piece in pieces:
        typed = pair.terminal.type(piece.language, piece.code)
        where = f"{piece.page}:{piece.line}"
        assert not typed.failed, f"{where}: {typed.failed} failed:\n{typed.out}{typed.err}"
        assert piece.output is None or matches(typed.out, piece.output), f"{where} printed:\n{typed.out}"
    pair.is_set_up = True
    return f"{len(pieces)} blocks of the guide do what it says"


def setup(pair: Pair) -> str:
    """Connect the two with our own command alone; a second time there is nothing to do."""
    comment = "// on this machine"
    pair.set_up()
    assert comment in pair.gateway.config.read_text(), "comments stay"
    again = pair.typed("carrel openclaw setup --yes")
    assert "Nothing to do" in again.err, again.err
    check = pair.typed("carrel openclaw check")
    return f"set up without a restart; {len(check.out.splitlines())} points are checked, and all are there"


def recorded(pair: Pair) -> str:
    """What is said in a channel is recorded once, and so is the answer, in one session."""
    pair.model.play("The south meadow has twenty goats", text("Twenty goats it is."))
    pair.gateway.say("goats", "The south meadow has twenty goats")
    asked, answered = _recorded_once(pair, "The south meadow has twenty goats", "Twenty goats it is.")
    assert asked["sessionKey"] == answered["sessionKey"], (asked["sessionKey"], answered["sessionKey"])
    return f"question and answer once each, in {asked['sessionKey']}"


def sorted_into_a_topic(pair: Pair) -> str:
    """What was said is sorted into a topic."""
    words = "The orchard in the valley has forty apple trees and needs pruning in March"
    pair.gateway.say("orchard", words)
    entry = pair.until("it is sorted", lambda: [one for one in pair.entries(words) if one["topicId"]])[0]
    topic = pair.get(f"/api/topics/{entry['topicId']}")["topic"]
    return f"sorted into the topic {topic['name']!r}"


def context(pair: Pair) -> str:
    """The next prompt holds what was said before, and not the question itself."""
    pair.gateway.say("doors", "The door of the barn is painted green")
    pair.settle()
    question = "Which colour has the door of the barn, please?"
    pair.gateway.say("doors", question)
    request = pair.model.asked_about(question)[-1]
    blocks = [block for message in messages_of(request) for block in BLOCK.findall(words_of(message))]
    assert blocks, "no message of the prompt holds the block"
    block = blocks[-1]
    assert "painted green" in block, block
    lines = [line for line in block.splitlines() if question in line and "intent" not in line]
    assert not lines, f"the question recalls itself: {lines}"
    return f"the prompt holds a block of {len(block)} characters with what was said before"


def tool(pair: Pair) -> str:
    """OpenClaw's model calls a tool of ours, and a note is on the board."""
    note = "The vet comes on Thursday at nine"
    wanted = {"id": NOTE_TOOL, "args": _note_arguments(pair, note)}
    pair.model.play("Put the vet on the board", calls(("tool_call", wanted)), text("It is on the board."))
    said = pair.gateway.say("vet", "Put the vet on the board")
    assert said == "It is on the board.", said
    found = pair.until("the note is there", lambda: pair.entries(note, type="note"))
    assert len(found) == 1, found
    return f"the note {found[0]['id']} is on the board"


def _note_arguments(pair: Pair, note: str) -> dict[str, str]:
    """Return what the tool takes; it notes something about an entry."""
    pair.gateway.say("vet", "The dog limps since Monday")
    about = pair.until("it is recorded", lambda: pair.entries("The dog limps since Monday"))[0]
    return {"relatedLogId": about["id"], "text": note}


def subagent(pair: Pair) -> str:
    """A sub-agent is spawned in a task's session, and its work is found under that task."""
    topic = pair.post("/api/topics", {"name": "Fences"})["topic"]["id"]
    task = pair.post("/api/tasks", {"title": "Mend the east fence", "topicId": topic})["task"]["id"]
    key = f"agent:main:clawboard:task:{topic}:{task}"
    work = "Count the broken boards of the east fence"
    spawned = {"id": "sessions_spawn", "args": {"task": work}}
    pair.model.play("Let somebody count", calls(("tool_call", spawned)), text("Somebody counts."))
    pair.model.play(work, text("Seven boards are broken."))
    pair.gateway.ask(key, "Let somebody count the boards of the fence")
    child = pair.until("the sub-agent's work is recorded", lambda: _of_children(pair, "Seven boards are broken"))[0]
    assert child["taskId"] == task, f"{child['sessionKey']} is under {child['taskId']} and not under {task}"
    return f"the work of {child['sessionKey']} is under the parent's task"


def _of_children(pair: Pair, words: str) -> list[Entry]:
    return [entry for entry in pair.entries(words) if ":subagent:" in (entry["sessionKey"] or "")]


def carrel_killed(pair: Pair) -> str:
    """The server is killed in the middle of a turn; what is said until it is back arrives once."""
    gate = Gate()
    pair.model.play("The well is dry", text("That is bad.", before=gate))
    pair.gateway.say("well", "The well is dry since Sunday", wait=False)
    gate.wait_reached(TURN_SECONDS)
    pair.kill_carrel()
    gate.open()
    pair.model.play("The pump is broken", text("I shall order a part."))
    pair.gateway.say("pump", "The pump is broken as well")
    pair.restart_carrel()
    _recorded_once(pair, "The well is dry since Sunday", "That is bad.", "The pump is broken as well", "order a part")
    return "four entries from before, during and after the kill, each of them once"


def gateway_restarted(pair: Pair) -> str:
    """The gateway is killed in the middle of a turn and started again; what is recorded is there once."""
    gate = Gate()
    pair.model.play("The mill wheel turns", text("How nice.", before=gate))
    pair.gateway.say("mill", "The mill wheel turns again", wait=False)
    gate.wait_reached(TURN_SECONDS)
    pair.gateway.kill()
    gate.open()
    pair.gateway.start()
    # OpenClaw makes the turn once more by itself.
    pair.until("the interrupted turn is answered", lambda: pair.entries("How nice."))
    pair.model.play("The flour is white", text("White flour, noted."))
    pair.gateway.say("mill", "The flour is white this year")
    said = ("The mill wheel turns again", "How nice.", "The flour is white this year", "White flour, noted.")
    _recorded_once(pair, *said)
    return "what was said before and after is there once, and so is the answer that was interrupted"


def imported(pair: Pair) -> str:
    """An import of OpenClaw's own store adds nothing to what the plugin has recorded."""
    pair.gateway.say("hens", "The hens lay nine eggs a day")
    pair.settle()
    before = pair.entries()
    done = pair.typed(f"carrel import openclaw {pair.gateway.state}")
    pair.settle()
    after = pair.entries()
    known = {entry["id"] for entry in before}
    added = [(entry["sessionKey"], entry["content"][:80]) for entry in after if entry["id"] not in known]
    assert not added, f"{len(added)} entries were added: {added[:5]}"
    return f"{len(before)} entries before and after; {done.err.splitlines()[-1]}"


def idle(pair: Pair, seconds: float) -> str:
    """While nobody says anything, no model is asked anything, however often Carrel looks for work."""
    pair.gateway.say("rest", "Good night, everybody")
    pair.finish_tasks()
    pair.settle()
    pair.renew_digests()
    quiet = pair.quiet_for(seconds)
    return f"{quiet} model calls in {seconds:.0f} s without a message"


def _recorded_once(pair: Pair, *texts: str) -> list[Entry]:
    """Wait until every text is in the log, and see that each is there once."""
    for each in texts:
        pair.until(f"{each!r} is recorded", lambda each=each: pair.entries(each))  # type: ignore[misc]
    pair.settle()
    found = {each: pair.entries(each) for each in texts}
    doubled = {each: Counter(entry["sessionKey"] for entry in entries) for each, entries in found.items()}
    assert all(len(entries) == 1 for entries in found.values()), f"not once: {doubled}"
    return [entries[0] for entries in found.values()]


# The guide first, so that the others find the pair as people have it who have read it to the end.
STEPS: dict[str, Step] = {
    "guide": guide,
    "setup": setup,
    "recorded": recorded,
    "sorted": sorted_into_a_topic,
    "context": context,
    "tool": tool,
    "subagent": subagent,
    "carrel-killed": carrel_killed,
    "gateway-restarted": gateway_restarted,
    "backend": two_agents_work_on_a_task_through_the_gateway,
    "import": imported,
}
