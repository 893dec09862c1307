"""How a world passes: random steps, everything catches up, and more is said."""

from collections.abc import Awaitable, Callable

from tests.isolation.asgi import Socket
from tests.isolation.copies import fork, replay
from tests.isolation.steering import steer
from tests.isolation.steps import (
    chat,
    chat_on_board,
    choose_recall,
    choose_recall_for_all,
    finish_task,
    hook,
    log,
    make_goal,
    make_task,
    make_topic,
    move_entry,
    note,
    plan,
    program,
    promote,
    remember,
    reset,
    schedule,
    send_file,
    send_file_to_thread,
    work_by_itself,
    work_on_task_elsewhere,
    write_in_thread,
    write_to_main,
)
from tests.isolation.world import Side, World

STEPS_TAKEN = (6, 14)
STEPS_SAID = (2, 4)
# How often a step is taken in the other account too.
TWIN_SHARE = 0.3
# In so many turns the run's own token is tried on the doors; a socket is bound to so many lanes.
LOOKS = 1
BINDINGS = 6
Step = Callable[[Side], Awaitable[object]]

STEPS: dict[Step, int] = {
    chat: 8, send_file: 2, write_to_main: 3, make_topic: 3, chat_on_board: 3, make_task: 6, write_in_thread: 4,
    send_file_to_thread: 2, work_on_task_elsewhere: 3, make_goal: 3, remember: 3, promote: 1, work_by_itself: 3,
    plan: 2, schedule: 2, log: 3, hook: 2, note: 4, program: 2, reset: 1, finish_task: 1, choose_recall: 1,
    choose_recall_for_all: 1, move_entry: 1, fork: 3, replay: 3,
}  # fmt: skip

SAYING: dict[Step, int] = {
    chat: 4, write_to_main: 2, chat_on_board: 1, write_in_thread: 3, work_on_task_elsewhere: 2, work_by_itself: 1,
    fork: 1, replay: 2,
}  # fmt: skip


async def live(world: World) -> None:
    """Take random steps, each in the first account and sometimes in its twin.

    Then everything catches up, and more is said: now with sockets open, and with runs that look around themselves.
    """
    world.model.steer = steer
    await take(world, STEPS, STEPS_TAKEN)
    await world.catch_up()
    await world.harvest()
    side = world.sides[0]
    sockets = [(side.callers[who], await listen(side, who)) for who in ("lim", side.chance.choice(("ann", "bob")))]
    world.model.looks_left = LOOKS
    await take(world, SAYING, STEPS_SAID)
    world.model.looks_left = 0
    for caller, socket in sockets:
        await socket.close()
        side.heard.append((caller, "websocket", "\n".join(socket.frames)))


async def take(world: World, steps: dict[Step, int], how_many: tuple[int, int]) -> None:
    """Take some of the steps, one after the other."""
    for step in world.chance.choices(list(steps), list(steps.values()), k=world.chance.randint(*how_many)):
        for side in world.sides:
            if side is world.sides[0] or world.chance.random() < TWIN_SHARE:
                await step(side)
                await world.settle()


async def listen(side: Side, who: str) -> Socket:
    """Open somebody's socket and bind it to lanes, their own or not."""
    socket = await side.callers[who].client.socket("/ws/chat")
    lanes = sorted(side.facts.lanes)
    for lane in side.chance.sample(lanes, min(len(lanes), BINDINGS)):
        socket.say({"type": "bind", "sessionId": lane, "clientInstanceId": f"browser-of-{who}"})
    return socket
