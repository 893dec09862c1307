"""Messages and tasks of objectives: hints, answers, links in metadata, and histories of plans and objectives."""

from functools import partial

import httpx

from tests.harness.server import HttpServer
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import COMPLETED, INPUT_REQUIRED, NEW, Json, get, message, refusal, state, text_of
from tests.surfaces.a2a.opt_calls import (
    ACTIVE,
    begin,
    done,
    new_objective,
    new_plan,
    objective_of,
    opt,
    plan_of,
    set_status,
    until,
    until_objective,
    until_plan,
)

PREFER = {"opt/v1/preferObjective": True}


async def say(client: httpx.AsyncClient, text: str, metadata: Json | None = None, **more: object) -> Json:
    """Send a message with OPT activated and return its task."""
    sent = message(text, **more) | ({} if metadata is None else {"metadata": metadata})
    task: Json = (await done(client, "SendMessage", message=sent))["task"]
    return task


def place(task: Json) -> list[object]:
    names = ("objectiveId", "planId", "taskIndex", "dependencies")
    return [task["metadata"].get(f"opt/v1/{name}") for name in names]


def history(task: Json) -> list[str]:
    return [text_of(one) for one in task["history"]]


@requirement("S1.opt.hint", "S1.opt.metadata")
async def test_a_hint_makes_the_message_an_objective_with_a_plan_of_one_task(on_either: httpx.AsyncClient) -> None:
    text = "write the report " * 9
    task = await say(on_either, text, PREFER)
    (objective,) = (await done(on_either, "objectives/list"))["objectives"]
    whole = await until_objective(on_either, objective, "completed")
    (plan,) = whole["plans"]
    (planned,) = plan["tasks"]
    assert (whole["name"], plan["status"], planned["status"]) == (text[:80].strip(), "completed", "completed")
    assert (planned["a2aTaskId"], task["contextId"]) == (task["id"], whole["id"])
    assert place(task) == [whole["id"], plan["id"], 0, []]
    assert task["metadata"]["sessionKey"].endswith(f":{whole['id']}")


@requirement("S1.opt.hint")
async def test_a_hint_names_the_objective_and_is_read_from_either_metadata(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    named = PREFER | {"opt/v1/suggestedName": "Report"}
    held = message("hold one", contextId="mine")
    params: Json = {"message": held, "metadata": named, "configuration": {"returnImmediately": True}}
    task = (await done(client, "SendMessage", **params))["task"]
    await server.agent.reached("one")
    (objective,) = (await done(client, "objectives/list"))["objectives"]
    (plan,) = (await objective_of(client, objective))["plans"]
    assert (objective["name"], objective["status"], plan["status"]) == ("Report", "working", "working")
    assert (plan["tasks"][0]["status"], task["contextId"]) == ("working", "mine")
    assert (await done(client, "SendMessage", **params))["task"]["id"] == task["id"]
    own = message("hello") | {"metadata": {"opt/v1/preferObjective": False}}
    await done(client, "SendMessage", message=own, metadata=named)
    assert (await done(client, "objectives/list"))["totalSize"] == 1
    server.agent.release("one")
    await until_plan(client, plan, "completed")
    runs = (await client.get("/api/runs")).json()["runs"]
    assert len(runs) == 2


@requirement("S1.opt.hint", "S1.opt.activate")
async def test_without_activation_hints_are_nothing_but_metadata(client: httpx.AsyncClient) -> None:
    hints = PREFER | {"opt/v1/objectiveId": "x", "opt/v1/planId": "y", "opt/v1/taskId": "z"}
    body = {"message": message("hello"), "metadata": hints}
    task = (await client.post("/a2a/main/message:send", json=body, headers=NEW)).json()["task"]
    assert (state(task), hints.items() <= task["metadata"].items()) == (COMPLETED, True)
    assert (await done(client, "objectives/list"))["totalSize"] == 0


@requirement("S1.opt.hint", "S1.opt.activate")
async def test_hints_work_over_every_binding_that_has_headers(client: httpx.AsyncClient) -> None:
    body = {"message": message("hello") | {"metadata": PREFER}}
    task = (await client.post("/a2a/main/message:send", json=body, headers=NEW | ACTIVE)).json()["task"]
    assert place(task)[2:] == [0, []]
    for wrong in ({"opt/v1/suggestedName": 3}, {"opt/v1/taskId": ["x"]}, {"opt/v1/suggestedName": "x" * 3_000}):
        answer = await opt(client, "SendMessage", message=message("hello") | {"metadata": PREFER | wrong})
        assert refusal(answer)[0] == -32602


@requirement("S1.opt.metadata")
async def test_a_message_that_names_a_plan_and_its_objective_works_on_that_task(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plan = await new_plan(on_either, objective, "one", {"name": "two", "dependencies": ["task-0"]})
    ids = {"opt/v1/objectiveId": objective["id"], "opt/v1/planId": plan["id"]}
    first = await say(on_either, "hello", ids)
    second = await say(on_either, "hello", ids | {"opt/v1/taskIndex": 1})
    one, two = [task["id"] for task in plan["tasks"]]
    assert place(first) == [objective["id"], plan["id"], 0, []]
    assert place(second) == [objective["id"], plan["id"], 1, [one]]
    assert first["contextId"] == second["contextId"] == objective["id"]
    finished = await until_plan(on_either, plan, "completed")
    assert [task["a2aTaskId"] for task in finished["tasks"]] == [first["id"], second["id"]]
    assert [task["id"] for task in finished["tasks"]] == [one, two]
    for half in (
        {"opt/v1/objectiveId": objective["id"]},
        ids | {"opt/v1/planId": 3},
        ids | {"opt/v1/objectiveId": None},
    ):
        plain = await say(on_either, "hello", half)
        assert (plain["contextId"] != objective["id"], "opt/v1/taskIndex" in plain["metadata"]) == (True, False)
    for unknown, reason in (
        ({"opt/v1/objectiveId": "nothing"}, "OBJECTIVE_NOT_FOUND"),
        ({"opt/v1/planId": "nothing"}, "PLAN_NOT_FOUND"),
        ({"opt/v1/taskIndex": 2}, "PLAN_TASK_NOT_FOUND"),
    ):
        answer = await opt(on_either, "SendMessage", message=message("hello") | {"metadata": ids | unknown})
        assert refusal(answer)[:2] == (-32000, reason)
    (skipped,) = (await new_plan(on_either, await new_objective(on_either), "skipped"))["tasks"]
    await set_status(on_either, skipped, "canceled")
    ended = {"opt/v1/objectiveId": skipped["objectiveId"], "opt/v1/planId": skipped["planId"]}
    answer = await opt(on_either, "SendMessage", message=message("never") | {"metadata": ended})
    assert refusal(answer)[:2] == (-32000, "INVALID_TRANSITION")
    malformed: list[Json] = [{"opt/v1/taskIndex": -1}, {"opt/v1/taskIndex": "0"}, {"opt/v1/planId": "a\x00b"}]
    for wrong in malformed:
        answer = await opt(on_either, "SendMessage", message=message("hello") | {"metadata": ids | wrong})
        assert refusal(answer)[0] == -32602


@requirement("S1.opt.answer")
async def test_an_answer_finds_the_blocked_plan_task_by_its_id(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either, contextId="the context")
    plan = await begin(on_either, await new_plan(on_either, objective, "a\nask which?", "b\nask how?"))
    asked = await until(
        lambda: plan_of(on_either, plan),
        lambda found: found["status"] == "blocked" and all("a2aTaskId" in task for task in found["tasks"]),
    )
    which, how = asked["tasks"]
    for task in (which, how):
        run = {"id": task["a2aTaskId"]}
        await until(partial(get, on_either, run), lambda found: state(found) == INPUT_REQUIRED)
    answered = await say(on_either, "like this", {"opt/v1/taskId": how["id"]}, contextId="the context")
    assert (answered["id"], state(answered)) == (how["a2aTaskId"], COMPLETED)
    again = message("again") | {"metadata": {"opt/v1/taskId": how["id"]}}
    assert refusal(await opt(on_either, "SendMessage", message=again))[:2] == (-32004, "UNSUPPORTED_OPERATION")
    other = message("that", contextId="another") | {"metadata": {"opt/v1/taskId": which["id"]}}
    assert refusal(await opt(on_either, "SendMessage", message=other))[::2] == (-32602, "message.contextId")
    by_run = await say(on_either, "that one", {"opt/v1/taskId": which["a2aTaskId"]})
    assert by_run["id"] == which["a2aTaskId"]
    assert (await until_objective(on_either, objective, "completed"))["status"] == "completed"
    unknown = message("x") | {"metadata": {"opt/v1/taskId": "nothing"}}
    assert refusal(await opt(on_either, "SendMessage", message=unknown))[:2] == (-32001, "TASK_NOT_FOUND")
    pending = (await new_plan(on_either, await new_objective(on_either), "later"))["tasks"][0]
    early = message("x") | {"metadata": {"opt/v1/taskId": pending["id"]}}
    assert refusal(await opt(on_either, "SendMessage", message=early))[0] == -32004


@requirement("S1.history.plan", "S1.history.objective", "S1.history.length", "S1.history.task")
async def test_histories_of_a_plan_and_of_an_objective_are_merged_by_time(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plans = [await new_plan(on_either, objective, "a", "b"), await new_plan(on_either, objective, "c")]
    ids = [{"opt/v1/objectiveId": objective["id"], "opt/v1/planId": plan["id"]} for plan in plans]
    first = await say(on_either, "first", ids[0])
    other = await say(on_either, "other", ids[1])
    second = await say(on_either, "second", ids[0] | {"opt/v1/taskIndex": 1})
    third = await say(on_either, "third", ids[0])
    of_plan = ["first", "echo: first", "second", "echo: second", "third", "echo: third"]
    whole = ["first", "echo: first", "other", "echo: other", *of_plan[2:]]
    for name in ("opt/v1/historyScope", "historyScope"):
        for scope, expected in (("plan", of_plan), ("objective", whole), ("task", ["second", "echo: second"])):
            read = await done(on_either, "GetTask", id=second["id"], metadata={name: scope})
            assert history(read) == expected
    read = await done(on_either, "GetTask", id=second["id"], metadata={"historyScope": "objective"})
    tagged = [one["taskId"] for one in read["history"]]
    assert tagged == [task["id"] for task in (first, other, second, third) for _ in range(2)]
    for length in (1, 3, 7, 100):
        short = await done(
            on_either, "GetTask", id=first["id"], historyLength=length, metadata={"historyScope": "plan"}
        )
        assert history(short) == of_plan[-length:]
    none = await done(on_either, "GetTask", id=first["id"], historyLength=0, metadata={"historyScope": "plan"})
    assert "history" not in none
    rest = await on_either.get(f"/a2a/main/tasks/{second['id']}?historyScope=plan", headers=NEW | ACTIVE)
    assert history(rest.json()) == of_plan
    sent = message("fourth") | {"metadata": ids[0] | {"opt/v1/historyScope": "plan"}}
    assert history((await done(on_either, "SendMessage", message=sent))["task"])[:6] == of_plan


@requirement("S1.history.plan", "S1.opt.run")
async def test_the_history_of_a_plan_has_what_the_runs_that_it_started_said(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    objective = await new_objective(client)
    plan = await begin(client, await new_plan(client, objective, "a\nsay yes", "b\nhold one"))
    await server.agent.reached("one")
    running = (await plan_of(client, plan))["tasks"][1]
    await until(lambda: plan_of(client, plan), lambda found: found["tasks"][0]["status"] == "completed")
    wide = {"id": running["a2aTaskId"], "metadata": {"historyScope": "plan"}}
    said = history(await until(partial(done, client, "GetTask", **wide), lambda task: "yes" in history(task)))
    assert (said[-1] == "yes" or said[-2] == "yes", len(said)) == (True, 3)
    server.agent.release("one")
    await until_plan(client, plan, "completed")


@requirement("S1.history.unlinked")
async def test_a_wider_history_needs_the_extension_and_a_link(client: httpx.AsyncClient) -> None:
    plain = await say(client, "hello")
    linked = await say(client, "hello", PREFER)
    field = "metadata.historyScope"
    for scope in ("plan", "objective"):
        params: Json = {"id": plain["id"], "metadata": {"opt/v1/historyScope": scope}}
        assert refusal(await opt(client, "GetTask", **params)) == (-32602, "INVALID_PARAMS", field)
        body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": params | {"id": linked["id"]}}
        for version in ("1.0", "0.3"):
            method = "GetTask" if version == "1.0" else "tasks/get"
            headers = {"A2A-Version": version}
            inactive = await client.post("/a2a/main", json=body | {"method": method}, headers=headers)
            assert refusal(inactive.json()) == (-32602, "INVALID_PARAMS", field)
            active = await client.post("/a2a/main", json=body | {"method": method}, headers=headers | ACTIVE)
            assert "result" in active.json()
        rest = await client.get(f"/a2a/main/tasks/{linked['id']}?historyScope={scope}", headers=NEW)
        assert (rest.status_code, rest.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
        before = (await client.get("/api/runs")).json()["runs"]
        sent = message("never") | {"metadata": {"historyScope": scope}}
        assert refusal(await opt(client, "SendMessage", message=sent)) == (-32602, "INVALID_PARAMS", field)
        assert (await client.get("/api/runs")).json()["runs"] == before
        listed = await client.get(f"/a2a/main/tasks?historyScope={scope}", headers=NEW | ACTIVE)
        assert listed.status_code == 400
    scopes: list[object] = ["everything", 3, ["plan"], {}]
    for wrong in scopes:
        answer = await opt(client, "GetTask", id=linked["id"], metadata={"historyScope": wrong})
        assert refusal(answer) == (-32602, "INVALID_PARAMS", field)


@requirement("S1.dispatch.link")
async def test_a_linked_run_stays_in_its_context_and_knows_what_its_task_knows(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    objective = await new_objective(client)
    plan = await new_plan(client, objective, "paint the door")
    fact = {"scope": f"task:{plan['tasks'][0]['id']}", "type": "fact", "content": "The door is green."}
    assert (await client.post("/api/memory", json=fact)).status_code == 201
    ids = {"opt/v1/objectiveId": objective["id"], "opt/v1/planId": plan["id"]}
    linked = await say(client, "which colour has the door?", ids)
    assert "The door is green." in str(server.agent.bodies[-1])
    await until_plan(client, plan, "completed")
    after = await say(client, "which colour has the door?", contextId=objective["id"])
    assert "The door is green." not in str(server.agent.bodies[-1]["instructions"])
    runs = [(await client.get(f"/api/runs/{task['id']}")).json()["run"] for task in (linked, after)]
    assert [run["taskId"] for run in runs] == [plan["tasks"][0]["id"], None]
    assert len({(run["sessionKey"], run["sessionId"], run["generation"]) for run in runs}) == 1
