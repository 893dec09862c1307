"""What the agents of the demo do: a few things every day, and on the last day what is still waiting for somebody."""

from functools import partial

from carrel.goals import PlannedTask, complete_goal, make_goal
from carrel.kernel import MS_PER_MINUTE, Access, Message, Provenance, SessionKey
from carrel.main.demo import content
from carrel.main.demo.bulk import space_id_of, topic_id_of
from carrel.main.demo.gateway import SUBAGENTS, Fault, Say, Use
from carrel.main.demo.world import World
from carrel.memory import NewMemory, Scope, keep, promote
from carrel.modes import NewSchedule, approve_session_plan, enable_plan_mode, fire_now, make_schedule, write_plan
from carrel.runs import Run, answer
from carrel.sessions import LaneChange, change_lane, make_lane
from carrel.storage import Tx
from carrel.work import NewTask, Task, TaskChange, change_task, create_task, post_message

_PAUSE_MS = 11 * MS_PER_MINUTE
PLANNING = SessionKey.of("editor", "web:winter-programme")
_WORKERS = ("researcher", "writer", "analyst", "editor")
_DONE = TaskChange(status="done")
_STEPS = (
    PlannedTask(title="Collect the dates of all branches"),
    PlannedTask(title="Ask the speakers for a sentence about their lecture", dependencies=("task-0",)),
    PlannedTask(title="Write the programme", dependencies=("task-0", "task-1")),
    PlannedTask(title="Have it proofread", dependencies=("task-2",)),
)


async def day_of_work(world: World, day: int) -> None:
    person = world.people[day % 2]
    for number in range(2):
        task = await _assigned(world, day, number)
        if world.happens(0.8):
            done = partial(change_task, access=world.owner, task_id=task.id, change=_DONE, rules=world.rules)
            await world.write(done)
        _pause(world)
    await _chat(world, day, person)
    if day % 7 == 2:
        await _ask(world, day, answered=True)
    if day % 9 == 4:
        await _fail(world, day)
    if day % 8 == 3:
        await _delegate(world, day, person)
    if day == 1:
        await _schedules(world)
    if day in (3, 12, 24):
        await _goal(world, day, person)
    if day == 15:
        await _plan(world, approve=True)
    await world.write(lambda tx: _remember(tx, world, day, person))


async def last_day(world: World) -> None:
    """Leave what waits for somebody: questions, approvals, failures, a plan to approve, reviews, a task in parts."""
    await world.write(lambda tx: _parts(tx, world))
    for number in range(4):
        await _ask(world, 100 + number, answered=False)
        _pause(world)
    for number in range(2):
        await _approval(world, number)
        _pause(world)
    for number in range(3):
        await _fail(world, 200 + number)
        _pause(world)
    await _plan(world, approve=False)
    for number in range(3):
        await _assigned(world, 300, number, status="review")
        _pause(world)


def _fired(tx: Tx, world: World, session: str, new: NewSchedule) -> None:
    fire_now(tx, world.owner, make_schedule(tx, world.owner, session, new).id, world.rules)


def _pause(world: World) -> None:
    world.clock.move_to(world.clock.now_ms() + _PAUSE_MS)


async def _assigned(world: World, day: int, number: int, status: str = "in_progress") -> Task:
    """Create a task for an agent, which takes notes, answers in its thread and moves it."""
    agent = _WORKERS[(day + number) % len(_WORKERS)]
    topic = world.pick(range(len(content.TOPICS)))
    kind, fact = world.pick(content.FACTS)
    task_id = f"demo-{day}-{number}"
    key = str(SessionKey.of(agent, f"task:{task_id}"))
    acts = [Use("task_history", {"taskId": task_id}), Use("memory_add", {"content": fact, "type": kind})]
    if status == "review" or world.happens(0.7):
        acts.append(Use("task_status", {"taskId": task_id, "status": "review"}))
    world.gateway.cue(key, *acts, Say(world.pick(content.REPLIES)))
    new = NewTask(
        id=task_id,
        title=f"{world.pick(content.ACTIONS)} {world.pick(content.SUBJECTS)}",
        description="The editor needs this by the end of the week.",
        topic_id=topic_id_of(topic),
        space_id=space_id_of(content.TOPICS[topic][1]),
        assigned_agent_ids=(agent,),
        priority=world.pick((2, 3, 3)),
    )
    task = await world.write(lambda tx: create_task(tx, world.owner, new, world.rules))
    await world.settle()
    if world.happens(0.5):
        person, text = world.pick(world.people), f"@{agent} {world.pick(content.SAID)}"
        world.gateway.cue(key, Say(world.pick(content.REPLIES)))
        await world.write(lambda tx: post_message(tx, person, task_id, text, world.rules))
        await world.settle()
    return task


def _parts(tx: Tx, world: World) -> None:
    """Create a task of sub-tasks, of which people have done some, and of which the last waits for one that is open."""
    person = world.people[0]
    whole = create_task(tx, person, NewTask(title="Move the map room to the first floor", id="demo-parts"), world.rules)
    last: tuple[str, ...] = ()
    for number, (title, status) in enumerate(content.PARTS, start=1):
        new = NewTask(id=f"demo-parts-{number}", title=title, parent_id=whole.id, dependencies=last)
        part = create_task(tx, person, new, world.rules)
        assigned = TaskChange(assigned_user_ids=(world.people[number % 2].actor_id,))
        change_task(tx, person, part.id, assigned, world.rules)
        for step in {"done": ("in_progress", "review", "done"), "in_progress": ("in_progress",)}.get(status, ()):
            change_task(tx, person, part.id, TaskChange(status=step), world.rules)
        last = (part.id,)


async def _chat(world: World, day: int, person: Access) -> None:
    agent = content.ROLES[day % len(content.ROLES)].id
    key = SessionKey.of(agent, f"web:{person.name.lower()}-week-{day // 7}")
    for _ in range(2):
        await world.say(key, world.pick(content.SAID), Say(world.pick(content.REPLIES)), by=person, channel="web")
        _pause(world)


async def _ask(world: World, number: int, *, answered: bool) -> Run:
    agent = _WORKERS[number % len(_WORKERS)]
    key = SessionKey.of(agent, f"web:question-{number}")
    question = content.QUESTIONS[number % len(content.QUESTIONS)]
    acts = (Use("request_input", {"question": question}), Say("Thank you, that settles it. The text is corrected."))
    run = await world.say(key, world.pick(content.SAID), *acts, channel="web")
    if answered:
        text = Message(text="Use the newer one.", provenance=Provenance(kind="external_user", actor="local"))
        await world.write(lambda tx: answer(tx, world.owner, run.id, text))
        await world.settle()
    return run


async def _approval(world: World, number: int) -> None:
    title = f"Publish {content.SUBJECTS[number]} on the website"
    key = SessionKey.of("release", f"web:publication-{number}")
    await world.say(key, f"Please create the task: {title}", Use("task_create", {"title": title}), Say("Created."))


async def _fail(world: World, number: int) -> None:
    key = SessionKey.of("analyst", f"web:figures-{number}")
    text = f"Count the visits of {content.SUBJECTS[number % len(content.SUBJECTS)]}"
    await world.say(key, text, Fault(content.FAULTS[number % len(content.FAULTS)]))


async def _delegate(world: World, day: int, person: Access) -> None:
    key = SessionKey.of("researcher", f"web:sources-{day}")
    parts = ("newspapers", "registers", "letters")
    acts = [Use("sessions_spawn", {"task": f"Look for the year 1911 in the {part}", "label": part}) for part in parts]
    for part in parts:
        world.gateway.cue(SUBAGENTS, Say(f"Found in the {part}: {world.pick(content.REPLIES)}"))
    world.gateway.cue(str(key), *acts, Say("Three are looking."))
    for part in parts:
        world.gateway.cue(str(key), Say(f"I have added what was found in the {part} to the sources."))
    await world.say(key, "Find three sources for the year 1911.", by=person)
    _pause(world)
    await world.settle()


async def _goal(world: World, day: int, person: Access) -> None:
    """Give a chat a goal; the oldest one is reached."""
    key = SessionKey.of("editor", f"web:{person.name.lower()}-goal-{day}")
    await world.say(key, "The programme must be printed before the month ends.", Say("I will keep to that."), by=person)
    name = f"{world.pick(content.ACTIONS)} {world.pick(content.SUBJECTS)}"
    goal = await world.write(lambda tx: make_goal(tx, person, key, name=name, description="Printed and on the web."))
    scope = Scope.parse(f"goal:{':'.join(key.identity)}:{goal.id}")
    fact = NewMemory(type="constraint", content="Nothing is printed that the editor has not seen.")
    await world.write(lambda tx: keep(tx, person, scope, "editor", fact))
    if day == 3:
        await world.write(lambda tx: complete_goal(tx, person, goal.id, world.rules))


async def _plan(world: World, *, approve: bool) -> None:
    """Plan the winter programme: one plan that was approved and worked on, and one that waits for approval."""
    key = PLANNING if approve else SessionKey.of("editor", "web:book-fair")
    title = "Winter programme" if approve else "Book fair"
    await world.say(key, f"Let us plan: {title}.", Say("I have written down four steps."), channel="web")

    def work(tx: Tx) -> None:
        enable_plan_mode(tx, world.owner, key)
        text = f"# {title}\n\n" + "\n".join(f"{at}. {step.title}" for at, step in enumerate(_STEPS, start=1))
        plan = write_plan(tx, world.owner, key, markdown=text, title=title, tasks=_STEPS)
        if approve:
            approve_session_plan(tx, world.owner, key, plan.id, world.rules)

    await world.write(work)
    await world.settle()


async def _schedules(world: World) -> None:
    """Set up what is done by the clock, and do it once."""
    for agent, text, cron in (
        ("analyst", "Report the loans of yesterday.", "0 7 * * *"),
        ("support", "List the letters that are older than three days.", "30 8 * * 1-5"),
        ("editor", "Which drafts wait for a review?", "0 9 * * 1"),
    ):
        new = NewSchedule(type="message", message=text, cron=cron, isolated=agent == "analyst")
        await world.write(partial(_fired, world=world, session=f"agent:{agent}:main", new=new))
        await world.settle()
    key = SessionKey.of("support", "telegram:direct:reader-1")
    await world.write(lambda tx: make_lane(tx, world.owner, key))
    await world.write(lambda tx: change_lane(tx, world.owner, key, LaneChange(display_name="Ann")))
    await world.say(key, "Is the quiet room open on Saturday?", Say("Yes, from 10:00 to 16:00."), channel="telegram")


def _remember(tx: Tx, world: World, day: int, person: Access) -> None:
    """Keep something in a session, and now and then let everybody know it."""
    kind, fact = content.FACTS[day % len(content.FACTS)]
    agent = content.ROLES[day % len(content.ROLES)].id
    name = f"{person.name.lower()}-week-{day // 7}"
    new = NewMemory(type=kind, content=fact)  # type: ignore[arg-type]
    kept = keep(tx, person, Scope.parse(f"session:web:{name}"), agent, new)
    if day % 5 == 0:
        promote(tx, world.owner, kept, "It holds for everything that is published.")
