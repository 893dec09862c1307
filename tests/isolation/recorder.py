"""The model of a world: it keeps every request, calls tools as a seed decides, and answers with words of its own."""

import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from carrel.gateway import Call, OnSend, OnText, Step, StepAnswer
from carrel.kernel import Usage
from tests.harness.scripted_agent import newest_line
from tests.isolation.marks import Origin

if TYPE_CHECKING:
    from tests.isolation.readers import Door, Question
    from tests.isolation.world import Side

CALLS_SHARE = 0.5
STEERING_SHARE = 0.4


@dataclass(frozen=True)
class Request:
    """A request as the model received it."""

    account: str
    key: str
    run_id: str
    task_id: str | None
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All of it."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def is_continued(self) -> bool:
        """Whether it goes on after the call of a tool."""
        return bool(self.body["input"][-1].get("type") == "function_call_output")


@dataclass(frozen=True)
class Look:
    """What a run's own token was shown in the middle of its turn: each with the question that it answers."""

    request: Request
    answers: list[tuple["Door", "Question", str]]


Steer = Callable[["Side", Request, random.Random], Awaitable[None]]


class Recorder:
    """A gateway in this process. It never repeats what it was shown, so whatever turns up elsewhere came by itself."""

    name = "recorder"
    translates = False
    takes_context = True

    def __init__(self, seed: int) -> None:
        self.requests: list[Request] = []
        self.sides: dict[str, Side] = {}
        self._seed = seed
        # The lane that is told what a run answers, if another lane wrote to it.
        self._other_ends: dict[str, str | None] = {}
        # In which share of turns a tool is called.
        self.calls_share = CALLS_SHARE
        # In so many turns the run's own token is used to look around.
        self.looks_left = 0
        self.looks: list[Look] = []
        # Says something into a run at work, in that share of the turns that have another step.
        self.steer: Steer | None = None

    async def take(self, step: Step, on_text: OnText, on_send: OnSend | None = None) -> StepAnswer:
        """Keep a request and answer it."""
        body = json.loads(step.body)
        address, _, account = step.address.partition("@")
        key, about = address.rpartition(":v")[0], body.get("metadata", {})
        request = Request(account or "default", key, about.get("runId", ""), about.get("taskId"), body)
        self.requests.append(request)
        side = self.sides[request.account]
        # The model may be asked before the person is told; the chat is then one that nobody has opened.
        if ":web:" in key and key not in side.facts.lanes:
            side.replays.add(request.run_id)
        side.meet(key, json.dumps(body["input"], ensure_ascii=False))
        if self.looks_left and step.run_token and not request.is_continued:
            self.looks_left -= 1
            self.looks.append(Look(request, await side.look_around(step.run_token, key)))
        # In later steps the newest line may be one that joined the run.
        self._other_ends.setdefault(request.run_id, side.other_end(key, newest_line(body["input"])))
        call = self._call(side, request)
        if call is not None:
            if self.steer is not None and request.run_id not in side.replays:
                await self._steer(self.steer, side, request)
            return _calling(*call, len(self.requests))
        about_task = request.task_id is not None and ":task:" not in key
        said = side.said_in(key, "reply about a task" if about_task else "reply")
        if (told := self._other_ends[request.run_id]) is not None:
            # Whoever wrote from another lane is told the answer there, whatever space this one is in.
            said = replace(said, also=told, space=None)
        return _saying(side.text(said), on_text)

    async def _steer(self, steer: Steer, side: "Side", request: Request) -> None:
        chance = random.Random(f"steering {self._seed} {request.account} {request.key} {len(self.requests)}")
        if chance.random() < STEERING_SHARE:
            await steer(side, request, chance)

    def _call(self, side: "Side", request: Request) -> tuple[str, dict[str, Any]] | None:
        """Some turns begin with the call of a tool. What a lane does depends on no other lane that runs beside it."""
        taken = sum(1 for one in self.requests if (one.account, one.key) == (request.account, request.key))
        chance = random.Random(f"model {self._seed} {request.account} {request.key} {taken}")
        if request.is_continued or chance.random() >= self.calls_share:
            return None
        offered = {tool.get("name") for tool in request.body["tools"]}
        wanted = {name: given for name, given in self._wanted(side, request.key, chance).items() if name in offered}
        name = chance.choice(sorted(wanted)) if wanted else None
        if name == "artifact_add":
            side.ids["run with an artifact"].append(request.run_id)
        return None if name is None else (name, wanted[name]())

    def _wanted(self, side: "Side", key: str, chance: random.Random) -> dict[str, Any]:
        others = sorted(side.facts.lanes.keys() - {key})
        other = chance.choice(others) if others else f"{key}-other"
        task = chance.choice(sorted(side.facts.tasks)) if side.facts.tasks else "none"
        file = chance.choice(side.ids["file"] or ["none"])
        subject = side.subject(chance)
        said, sent = side.said_in(key, "artifact"), replace(side.said_in(other, "sent message"), also=key, space=None)
        calls: dict[str, Any] = {
            "sessions_list": lambda: {"messageLimit": 20},
            "sessions_history": lambda: {"sessionKey": other, "includeTools": True},
            "session_status": lambda: {"sessionKey": other},
            "memory_search": lambda: {"query": subject},
            "task_history": lambda: {"taskId": task},
            "file_list": dict,
            "file_read": lambda: {"id": file},
            "goal_list": dict,
            "plan_get": dict,
            "sessions_send": lambda: {"sessionKey": other, "message": side.text(sent), "timeoutSeconds": 0},
            "artifact_add": lambda: {"text": side.text(said)},
            "sessions_spawn": lambda: {"task": side.text(Origin(side.slug, "spawned work", by=key)), "cleanup": "keep"},
        }
        for prefix in ("board", "clawboard"):
            calls[f"{prefix}_search"] = lambda: {"q": subject}
            calls[f"{prefix}_context"] = lambda: {"q": subject, "sessionKey": other}
        if ":task:" not in key and ":subagent:" not in key:
            fact = Origin(side.slug, "session fact", by=key, lane=key)
            calls["memory_add"] = lambda: {"content": side.text(fact), "type": "preference"}
        return calls

    async def check(self) -> None:
        """Do nothing: it is there."""

    async def models(self) -> tuple[str, ...]:
        """Name its one model."""
        return ("recorder",)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _saying(text: str, on_text: OnText) -> StepAnswer:
    on_text(text)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    return StepAnswer(text=text, calls=(), usage=Usage(), model="recorder", output=output)


def _calling(tool: str, arguments: dict[str, Any], number: int) -> StepAnswer:
    call = Call(call_id=f"call_{number}", name=tool, arguments=json.dumps(arguments))
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.call_id, "name": tool, "status": "completed"}
    return StepAnswer(
        text="", calls=(call,), usage=Usage(), model="recorder", output=[item | {"arguments": call.arguments}]
    )
