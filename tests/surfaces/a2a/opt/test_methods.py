"""Objectives: created, read, listed, changed and planned anew."""

from itertools import product
from typing import Any

import httpx

from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import Json, refusal
from tests.surfaces.a2a.opt_calls import (
    ACTIVE,
    METHODS,
    begin,
    done,
    new_objective,
    new_plan,
    objective_of,
    opt,
    plan_of,
)

MOVES = {
    "submitted": {"planning", "working", "canceled"},
    "planning": {"working", "blocked", "failed", "canceled"},
    "working": {"blocked", "completed", "failed", "canceled"},
    "blocked": {"planning", "working", "failed", "canceled"},
    "failed": {"submitted", "planning"},
    "canceled": {"submitted"},
    "completed": set(),
}
# How a new objective gets to each status.
WAYS = {
    "submitted": [],
    "planning": ["planning"],
    "working": ["working"],
    "blocked": ["working", "blocked"],
    "failed": ["working", "failed"],
    "canceled": ["canceled"],
    "completed": ["working", "completed"],
}


async def move(client: httpx.AsyncClient, objective: Json, status: str) -> Json:
    return await opt(client, "objectives/update", id=objective["id"], status=status)


@requirement("S1.opt.objective", "S1.opt.methods")
async def test_an_objective_has_its_fields_and_begins_submitted(on_either: httpx.AsyncClient) -> None:
    metadata = {"trace": "t-1", "deep": [1, {"x": None}]}
    made = await new_objective(on_either, "Launch", description="By June.", metadata=metadata)
    assert made == {
        "id": made["id"],
        "name": "Launch",
        "description": "By June.",
        "status": "submitted",
        "plans": [],
        "metadata": metadata,
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
    }
    assert made["createdAt"].endswith("Z")
    assert await objective_of(on_either, made) == made
    goal = (await on_either.get(f"/api/goals/{made['id']}")).json()["goal"]
    assert (goal["name"], goal["status"], goal["metadata"]) == ("Launch", "submitted", metadata)
    assert goal["sessionId"].endswith(f":{made['id']}")


@requirement("S1.opt.methods")
async def test_plans_and_tasks_of_an_objective_can_be_left_out(client: httpx.AsyncClient) -> None:
    made = await new_objective(client)
    plan = await new_plan(client, made, "one", "two")
    whole = await objective_of(client, made)
    assert whole["plans"] == [plan]
    assert [task["name"] for task in whole["plans"][0]["tasks"]] == ["one", "two"]
    flat = (await done(client, "objectives/get", id=made["id"], includeTasks=False))["objective"]
    assert flat["plans"] == [{name: value for name, value in plan.items() if name != "tasks"}]
    bare = (await done(client, "objectives/get", id=made["id"], includePlans=False))["objective"]
    assert bare == {name: value for name, value in whole.items() if name != "plans"}


@requirement("S1.opt.methods")
async def test_objectives_are_listed_newest_first_in_pages_with_the_total(on_either: httpx.AsyncClient) -> None:
    made = [(await new_objective(on_either, f"objective {n}"))["id"] for n in range(13)]
    await move(on_either, {"id": made[4]}, "canceled")
    first = await done(on_either, "objectives/list")
    assert ([one["id"] for one in first["objectives"]], first["totalSize"]) == (made[:2:-1], 13)
    assert all("plans" not in one for one in first["objectives"])
    rest = await done(on_either, "objectives/list", pageToken=first["nextPageToken"], pageSize=3)
    assert [one["id"] for one in rest["objectives"]] == made[2::-1]
    assert (rest["nextPageToken"], rest["totalSize"]) == ("", 13)
    canceled = await done(on_either, "objectives/list", status="canceled")
    assert [one["id"] for one in canceled["objectives"]] == [made[4]]
    assert canceled["totalSize"] == 1
    assert (await done(on_either, "objectives/list", status="submitted", pageSize=1))["totalSize"] == 12
    for wrong in ({"pageSize": 0}, {"pageSize": 101}, {"status": "cancelled"}, {"pageToken": "\u0001"}):
        assert refusal(await opt(on_either, "objectives/list", **wrong))[0] == -32602


@requirement("S1.opt.methods", "S1.x.opt.whitelist")
async def test_an_update_changes_what_it_names_and_refuses_every_other_key(client: httpx.AsyncClient) -> None:
    made = await new_objective(client, "Launch", description="By June.", metadata={"a": 1})
    plan = await new_plan(client, made)
    changed = (await done(client, "objectives/update", id=made["id"], name="Start", metadata={"b": 2}))["objective"]
    assert (changed["name"], changed["description"], changed["metadata"]) == ("Start", "By June.", {"b": 2})
    stored = await objective_of(client, made)
    for method, target in (("objectives/update", made), ("plans/update", plan)):
        others = set(target) - {"id", "name", "description", "status", "metadata"} | {"madeBy", "key", "tasks", "x"}
        for key in sorted(others):
            answer = await opt(client, method, id=target["id"], name="hacked", **{key: target.get(key, "x")})
            assert refusal(answer) == (-32602, "INVALID_PARAMS", key)
    assert await objective_of(client, made) == stored
    renamed = await done(client, "plans/update", id=plan["id"], name="Second", description="Text", metadata={"c": 3})
    assert [renamed["plan"][name] for name in ("name", "description", "metadata")] == ["Second", "Text", {"c": 3}]


@requirement("S1.opt.objective.moves", "S1.x.opt.codes")
async def test_an_objective_moves_only_as_its_table_says(client: httpx.AsyncClient) -> None:
    for before, after in product(MOVES, MOVES):
        objective = await new_objective(client, f"{before} to {after}")
        for status in WAYS[before]:
            assert "error" not in await move(client, objective, status)
        answer = await move(client, objective, after)
        if after == before or after in MOVES[before]:
            assert answer["result"]["objective"]["status"] == after
        else:
            assert refusal(answer)[:2] == (-32000, "INVALID_TRANSITION"), (before, after)
            assert (await objective_of(client, objective))["status"] == before


@requirement("S1.opt.methods")
async def test_replanning_skips_pending_plans_and_blocks_working_ones(client: httpx.AsyncClient) -> None:
    objective = await new_objective(client)
    working = await begin(client, await new_plan(client, objective, "a\nhold one"))
    pending = await new_plan(client, objective, "later")
    assert working["status"] == "working"
    answer = await done(client, "objectives/replan", id=objective["id"], reason="The market has changed.")
    assert answer["objective"]["status"] == "planning"
    assert (await plan_of(client, working))["status"] == "blocked"
    assert (await plan_of(client, pending))["status"] == "skipped"


WRONG: dict[str, tuple[Any, ...]] = {
    "objectives/create": ({"name": ""}, {"name": " "}, {"name": 3}, {"name": None}, {"name": "x" * 3_000}),
    "objectives/get": ({"id": 3}, {"includePlans": "yes"}),
    "objectives/list": ({"pageSize": "many"}, {"status": "done"}, {"pageToken": 3}),
    "objectives/update": ({"status": "done"}, {"metadata": []}, {"name": None}),
    "objectives/replan": ({"reason": 3},),
    "plans/create": ({"name": ""}, {"tasks": "x"}, {"tasks": [{}]}, {"tasks": [{"name": "x", "dependencies": "y"}]}),
    "plans/get": ({"includeTasks": 1},),
    "plans/update": ({"status": "canceled"}, {"description": 3}),
    "plans/addTasks": ({"tasks": []}, {"tasks": None}, {"tasks": ["x"]}),
    "tasks/link": ({"planTaskId": None}, {"a2aTaskId": 7}),
    "tasks/updateStatus": ({"status": "done"}, {"status": None}),
}


@requirement("S1.opt.methods", "S1.x.opt.codes")
async def test_malformed_params_are_refused_with_the_field_and_change_nothing(on_either: httpx.AsyncClient) -> None:
    objective = await new_objective(on_either)
    plan = await new_plan(on_either, objective, "one")
    known = {"objectives": objective["id"], "plans": plan["id"], "tasks": plan["tasks"][0]["id"]}
    before = await objective_of(on_either, objective)
    deep: Json = {}
    for _ in range(40):
        deep = {"x": deep}
    for method, usual in METHODS.items():
        params = dict(usual)
        if "id" in params:
            params["id"] = known[method.partition("/")[0]]
        if "objectiveId" in params:
            params["objectiveId"] = objective["id"]
        everywhere = ({name: "a\x00b"} for name, value in params.items() if isinstance(value, str))
        for wrong in (*WRONG[method], *everywhere, {"metadata": deep}):
            answer = await opt(on_either, method, **params | wrong)
            assert refusal(answer)[0] == -32602, (method, wrong, answer)
        for missing in params:
            rest = {name: value for name, value in params.items() if name != missing}
            assert refusal(await opt(on_either, method, **rest)) == (-32602, "INVALID_PARAMS", missing)
        body: Json = {"jsonrpc": "2.0", "id": 1, "method": method}
        for not_params in ([1], "x", 7, True):
            answered = await on_either.post("/a2a/main", json=body | {"params": not_params}, headers=ACTIVE)
            assert refusal(answered.json())[0] == -32602
    assert await objective_of(on_either, objective) == before
    assert (await done(on_either, "objectives/list"))["totalSize"] == 1
