"""What people, agents and programs do in a world, each step through the public doors."""

import json
from base64 import b64encode
from dataclasses import replace
from uuid import UUID

from tests.isolation.asgi import Json
from tests.isolation.marks import Origin
from tests.isolation.world import DEFAULT_SPACE, OPEN_SPACE, SPACES, Side

PEOPLE = ("owner", "ann", "bob", "lim")
AGENTS = ("main", "writer", "scout")
# The same ids in both accounts.
TASKS = ("task-one", "task-two", "task-three")
TOPICS = ("topic-one", "topic-two")
FAR_OFF_SECONDS = 604_800
NEVER = "0 0 1 1 *"


def who_of(side: Side) -> str:
    """Return somebody who writes."""
    return side.chance.choice(PEOPLE)


def space_of(side: Side, who: str) -> str:
    """Return a space that somebody sees."""
    return OPEN_SPACE if who == "lim" else side.chance.choice(SPACES)


def agents_in(space: str) -> tuple[str, ...]:
    """Return the agents that see a space."""
    return AGENTS if space == OPEN_SPACE else AGENTS[:2]


def chat_of(side: Side, who: str, agents: tuple[str, ...] = AGENTS) -> str:
    """Return the key of somebody's chat with one of the agents."""
    key = f"agent:{side.chance.choice(agents)}:web:chat-of-{who}"
    side.lane(key, person=who)
    return key


async def talk(side: Side, who: str, key: str, **more: object) -> object:
    """Say something in a lane."""
    said = side.text(side.said_in(key, "message about a task" if "taskId" in more else "message", by=who))
    return await side.do(who, "/api/runs", {"sessionKey": key, "message": said, **more})


async def chat(side: Side) -> None:
    """Somebody writes in their own chat."""
    who = who_of(side)
    key = chat_of(side, who)
    said = side.text(side.said_in(key, "message", by=who))
    await side.do(who, "/api/chat", {"sessionKey": key, "text": said})


async def send_file(side: Side) -> None:
    """Somebody sends a file in their own chat."""
    who = who_of(side)
    key = chat_of(side, who)
    origin = side.said_in(key, "message", by=who)
    said, held = side.text(origin), side.text(replace(origin, kind="file"))
    file = {"name": f"{held}.txt", "mimeType": "text/plain", "dataBase64": b64encode(held.encode()).decode()}
    await side.do(who, "/api/chat", {"sessionKey": key, "text": said, "attachments": [file]})


async def write_to_main(side: Side) -> None:
    """Somebody writes to an agent's main lane."""
    await talk(side, who_of(side), f"agent:{side.chance.choice(AGENTS)}:main")


async def make_topic(side: Side) -> None:
    """Somebody makes a topic."""
    who, topic = who_of(side), side.chance.choice(TOPICS)
    if topic in side.ids["topic"]:
        return
    space = side.world.topics.setdefault(topic, OPEN_SPACE if topic == TOPICS[0] else SPACES[2])
    who = "owner" if space != OPEN_SPACE else who
    name = side.text(Origin(side.slug, "topic name", by=who, topic=topic, space=space, kept=True))
    if await side.do(who, "/api/topics", {"id": topic, "name": name, "spaceId": space}):
        side.ids["topic"].append(topic)


async def chat_on_board(side: Side) -> None:
    """Somebody writes in the chat of a topic."""
    topic = side.any("topic")
    if topic in TOPICS:
        space = side.world.topics[topic]
        who = side.chance.choice(PEOPLE if space == OPEN_SPACE else PEOPLE[:3])
        key = f"agent:{side.chance.choice(agents_in(space))}:topic:{topic}"
        side.lane(key, is_board=True)
        await talk(side, who, key)


async def make_task(side: Side) -> None:
    """Somebody makes a task, most often for an agent."""
    who, task = who_of(side), side.chance.choice(TASKS)
    if task in side.facts.tasks:
        await write_in_thread(side)
        return
    space = space_of(side, who)
    title = Origin(side.slug, "task title", by=who, task=task, space=space, kept=True)
    body = {
        "id": task, "spaceId": space,
        "title": side.text(title),
        "description": side.text(replace(title, kind="task description")),
    }  # fmt: skip
    agents = side.chance.sample(agents_in(space), side.chance.randint(0, 2))
    side.facts.tasks[task] = space
    side.know_task(task, None)
    await side.do(who, "/api/tasks", body | {"assignedAgentIds": agents})


def reader_of_task(side: Side, task: str) -> str:
    """Return somebody who sees a task."""
    return side.chance.choice(PEOPLE if side.facts.tasks[task] == OPEN_SPACE else PEOPLE[:3])


async def write_in_thread(side: Side) -> None:
    """Somebody writes in the thread of a task, perhaps to an agent or a person."""
    if not side.facts.tasks:
        return
    task = side.chance.choice(sorted(side.facts.tasks))
    who, space = reader_of_task(side, task), side.facts.tasks[task]
    said = side.text(Origin(side.slug, "thread message", by=who, task=task, space=space))
    address = side.chance.choice(("", "@main ", "@writer ", "@ann ", "@bob "))
    told = await side.do(who, f"/api/tasks/{task}/messages", {"content": address + said})
    for one in told["notified"] if told else ():
        if one.get("runId"):
            side.ran(one["runId"], who)


async def send_file_to_thread(side: Side) -> None:
    """Somebody sends a file to the thread of a task."""
    if not side.facts.tasks:
        return
    task = side.chance.choice(sorted(side.facts.tasks))
    who = reader_of_task(side, task)
    held = side.text(Origin(side.slug, "file of a thread", by=who, task=task, space=side.facts.tasks[task]))
    answer = await side.callers[who].client.upload("/api/attachments", f"{held}.txt", held)
    body = {"content": "a file", "attachmentIds": [answer.json()["attachment"]["id"]]}
    await side.do(who, f"/api/tasks/{task}/messages", body)


async def work_on_task_elsewhere(side: Side) -> None:
    """Somebody starts a run in their own chat with the id of some task."""
    if side.facts.tasks:
        task = side.chance.choice(sorted(side.facts.tasks))
        who = reader_of_task(side, task)
        await talk(side, who, chat_of(side, who, agents_in(side.facts.tasks[task])), taskId=task)


async def make_goal(side: Side) -> None:
    """Somebody sets a goal in a chat, keeps facts for it, and makes a task of it."""
    who = who_of(side)
    key = chat_of(side, who)
    # Sometimes in a chat in which nothing was said yet.
    if side.chance.random() < 0.7:
        await talk(side, who, key)
    made = await side.do(who, "/api/goals", {"sessionId": key, "name": "Ship it"})
    if made is None:
        return
    goal = made["goal"]["id"]
    side.facts.goals[goal] = key
    side.ids["goal"].append(goal)
    named = side.text(Origin(side.slug, "goal name", by=who, lane=key, goal=goal))
    await side.do(who, f"/api/goals/{goal}", {"name": named}, "PATCH")
    conversation = key.split(":", 2)[2]
    await keep(side, who, f"goal:{conversation}:{goal}", Origin(side.slug, "goal fact", by=who, lane=key, goal=goal))
    await keep_for_session(side, who, key)
    await plan_tasks(side, key, goal)


async def plan_tasks(side: Side, key: str, goal: str) -> None:
    """Let the agent of a chat make a task of a goal, for some agent."""
    title = side.text(Origin(side.slug, "task title", by=side.facts.lanes[key].person or "", lane=key, kept=True))
    tool = {"goalId": goal, "tasks": [{"title": title}]}
    answer = await side.owner.post("/agent/goal_plan_tasks", tool, **{"x-openclaw-session-key": key})
    for task in answer.json().get("tasks", []):
        side.facts.tasks[task["id"]] = DEFAULT_SPACE
        side.know_task(task["id"], goal)
        if side.chance.random() < 0.6:
            agents = [side.chance.choice(AGENTS[:2])]
            await side.do("owner", f"/api/tasks/{task['id']}/assign", {"agentIds": agents})


async def keep(side: Side, who: str, scope: str, origin: Origin) -> None:
    """Keep a fact in a scope."""
    whose = {"agentId": origin.lane.split(":")[1]} if origin.lane else {}
    body = {"scope": scope, "type": "decision", "content": side.text(origin), **whose}
    kept = await side.do(who, "/api/memory", body)
    if kept:
        side.ids["memory"].append(kept["item"]["id"])


async def keep_for_session(side: Side, who: str, key: str) -> None:
    """Keep a fact in the scope of a chat."""
    scope = f"session:{key.split(':', 2)[2]}"
    await keep(side, who, scope, Origin(side.slug, "session fact", by=who, lane=key))


async def remember(side: Side) -> None:
    """Somebody keeps a fact for a task or for their chat, and perhaps lets everybody know one."""
    who = who_of(side)
    if side.facts.tasks and side.chance.random() < 0.5:
        task = side.chance.choice(sorted(side.facts.tasks))
        space = side.facts.tasks[task]
        who = reader_of_task(side, task)
        await keep(side, who, f"task:{task}", Origin(side.slug, "task fact", by=who, task=task, space=space))
        return
    key = chat_of(side, who)
    await talk(side, who, key)
    await keep_for_session(side, who, key)


async def promote(side: Side) -> None:
    """Somebody keeps a fact in their chat and promotes it."""
    who = who_of(side)
    key = chat_of(side, who)
    await talk(side, who, key)
    fact = side.text(Origin(side.slug, "promoted fact", by=who, kept=True))
    _, agent, conversation = key.split(":", 2)
    body = {"scope": f"session:{conversation}", "type": "fact", "content": fact, "agentId": agent}
    kept = await side.do(who, "/api/memory", body)
    if kept:
        await side.do(who, f"/api/memory/{kept['item']['id']}/promote", {"reason": "all should know"})


async def work_by_itself(side: Side) -> None:
    """Somebody lets an agent work by itself in their chat: on a text, a goal or a task."""
    who = who_of(side)
    key = chat_of(side, who)
    goals = [goal for goal, lane in side.facts.goals.items() if lane == key]
    if goals:
        body = {"goalId": goals[0]}
    else:
        body = {"text": side.text(Origin(side.slug, "task title", by=who, lane=key, kept=True))}
    told = await side.do(who, "/api/auto/start", {"sessionId": key, "intervalSeconds": FAR_OFF_SECONDS, **body})
    if told:
        side.ids["auto"].append(told["run"]["runId"])
        side.facts.tasks.setdefault(told["run"]["taskId"], DEFAULT_SPACE)
        side.know_task(told["run"]["taskId"], goals[0] if goals else None)


async def plan(side: Side) -> None:
    """Somebody writes a plan in their chat, and perhaps approves it."""
    who = who_of(side)
    key = chat_of(side, who)
    state = await side.do(who, "/api/plans/enable", {"sessionId": key})
    if not state or not state["activePlanId"]:
        return
    plan_id = state["activePlanId"]
    side.ids["plan"].append(plan_id)
    written = side.text(Origin(side.slug, "plan", by=who, lane=key))
    title = side.text(Origin(side.slug, "task title", by=who, lane=key, kept=True, space=DEFAULT_SPACE))
    body = {"sessionId": key, "markdown": written, "title": "A plan", "tasks": [{"title": title}]}
    told = await side.do(who, f"/api/plans/{plan_id}", body, "PUT")
    if told is None:
        return
    goal = told["plan"]["goalId"]
    if goal is not None:
        side.facts.goals.setdefault(goal, key)
    for task in told["plan"]["tasks"]:
        side.facts.tasks[task["id"]] = task["spaceId"]
        side.facts.planned_in[task["id"]] = key
        side.know_task(task["id"], goal)
    if side.chance.random() < 0.6:
        await side.do(who, f"/api/plans/{plan_id}/approve", {"sessionId": key})


async def schedule(side: Side) -> None:
    """Somebody schedules a message to their chat, and lets it run now."""
    who = who_of(side)
    key = chat_of(side, who)
    said = side.text(side.said_in(key, "scheduled message", by=who))
    body = {"type": "message", "message": said, "cron": NEVER, "sessionId": key}
    made = await side.do(who, "/api/schedules", body)
    if made:
        side.ids["schedule"].append(made["schedule"]["id"])
        await side.do(who, f"/api/schedules/{made['schedule']['id']}/run", {})


async def log(side: Side) -> None:
    """A program logs what was said in a session of its own."""
    who = who_of(side)
    space, bucket = space_of(side, who), side.chance.choice(("discord-4711", "channel:general"))
    origin = Origin(side.slug, "logged entry", by=who, space=space, kept=True)
    body = {"type": "conversation", "content": side.text(origin), "spaceId": space, "source": {"sessionKey": bucket}}
    await side.do(who, side.chance.choice(("/api/log", "/api/ingest")), body)


async def hook(side: Side) -> None:
    """A program sends a hook: to an agent, or as Claude Code does, which is answered with a context."""
    who = who_of(side)
    said = side.text(Origin(side.slug, "text of a hook", by=who, kept=True))
    agent, way = side.chance.choice(AGENTS), side.chance.choice(("claude", "agent", "wake"))
    if way == "claude":
        uuid = UUID(int=side.chance.getrandbits(128), version=4)
        body = {"session_id": str(uuid), "hook_event_name": "UserPromptSubmit", "prompt": said}
        told = await side.do(who, "/api/hooks/claude", body)
        side.heard.append((side.callers[who], "claude hook", json.dumps(told)))
    elif way == "wake":
        await side.do(who, "/api/hooks/wake", {"agentId": agent, "text": said})
    else:
        told = await side.do(who, "/api/hooks/agent", {"agentId": agent, "message": said})
        side.lane(told["sessionKey"]).is_board = True


async def note(side: Side) -> None:
    """Somebody writes a note, in a space, on a topic or on a task."""
    who = who_of(side)
    body: dict[str, str] = {"spaceId": space_of(side, who)}
    if side.facts.tasks and side.chance.random() < 0.4:
        task = side.chance.choice(sorted(task for task in side.facts.tasks))
        who, body = reader_of_task(side, task), {"taskId": task}
    space = body.get("spaceId") or side.facts.tasks[body["taskId"]]
    origin = Origin(side.slug, "note", by=who, task=body.get("taskId"), space=space, kept=True)
    body["content"] = side.text(origin)
    await side.do(who, "/api/notes", body)


async def program(side: Side) -> None:
    """A program sends a message by A2A, or asks for a response."""
    agent = side.chance.choice(AGENTS[:2])
    origin = Origin(side.slug, "program's message", by="program")
    client = side.callers["program"].client
    said = side.text(origin)
    mark = next(iter(side.world.marks.found(said)))
    if side.chance.random() < 0.5:
        body: Json = {"model": f"carrel/{agent}", "input": said, "user": "someone"}
        told = (await client.post("/v1/responses", body)).json()
        key, run_id = told["metadata"]["sessionKey"], told["metadata"]["runId"]
        side.ids["response"].append(told["id"])
    else:
        message = {"messageId": mark, "role": "ROLE_USER", "parts": [{"text": said}], "contextId": "context-one"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = await client.post(f"/a2a/{agent}", body, **{"a2a-version": "1.0"})
        told = answer.json()["result"]["task"]
        key, run_id = told["metadata"]["sessionKey"], told["id"]
    side.lane(key).client = "program"
    side.ran(run_id, "program")
    side.world.marks.origins[mark] = side.said_in(key, "program's message", by="program")


async def reset(side: Side) -> None:
    """Somebody begins their chat anew."""
    who = who_of(side)
    chats = [lane for lane in side.facts.lanes.values() if lane.person == who]
    if chats:
        lane = side.chance.choice(chats)
        lane.was_reset = True
        await side.do(who, f"/api/sessions/{lane.key}/reset", {})


async def finish_task(side: Side) -> None:
    """Somebody finishes a task, or reopens a finished one."""
    if side.facts.tasks:
        task = side.chance.choice(sorted(side.facts.tasks))
        who = reader_of_task(side, task)
        if await side.do(who, f"/api/tasks/{task}", {"status": "done"}, "PATCH") and side.chance.random() < 0.5:
            await side.do(who, f"/api/tasks/{task}/reopen", {})


async def choose_recall(side: Side) -> None:
    """Somebody puts their chat on the board, or takes it back."""
    who = who_of(side)
    chats = [lane for lane in side.facts.lanes.values() if lane.person == who]
    if chats:
        lane, recall = side.chance.choice(chats), side.chance.choice(("space", "space", "own"))
        if await set_recall(side, who, f"/api/sessions/{lane.key}", {"recall": recall}):
            lane.recall = recall
            lane.was_shared = lane.was_shared or recall == "space"


async def choose_recall_for_all(side: Side) -> None:
    """The owner lets the whole account, or one agent, recall the board."""
    if side.chance.random() < 0.5:
        if await set_recall(side, "owner", "/api/account", {"settings": {"recall": "space"}}):
            side.facts.recall = "space"
    else:
        agent = side.chance.choice(AGENTS)
        if await set_recall(side, "owner", f"/api/agents/{agent}", {"recall": "space"}):
            side.facts.recall_of[agent] = "space"


async def set_recall(side: Side, who: str, path: str, body: dict[str, object]) -> bool:
    """Set `recall`; return whether the server took it: it refuses a person's chat to everybody else."""
    return await side.do(who, path, body, "PATCH") is not None


async def move_entry(side: Side) -> None:
    """Somebody moves something they said in their chat to a topic: it is shared from then on."""
    who = who_of(side)
    topic = side.any("topic")
    chats = [lane.key for lane in side.facts.lanes.values() if lane.person == who]
    if topic not in TOPICS or not chats or (who == "lim" and side.world.topics[topic] != OPEN_SPACE):
        return
    client = side.callers[who].client
    key = side.chance.choice(chats)
    answer = await client.get("/api/log", {"sessionKey": key, "type": "conversation"})
    marks = side.world.marks
    # A line that tells of a task also has the task's title, which belongs to the task's space.
    entries = [
        entry
        for entry in answer.json().get("logs", [])
        if not any(marks.origins[mark].kept for mark in marks.found(entry["content"]))
    ]
    if entries:
        entry = side.chance.choice(entries)
        if await side.do(who, f"/api/log/{entry['id']}", {"topicId": topic}, "PATCH"):
            side.facts.moved |= marks.found(json.dumps(entry))
