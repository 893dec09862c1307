"""What a turn on a task is asked to do, and the text that says so. Pure.

`asked_of` decides by one rule, from what the run was told about its task. Every part says what to do before what not
to do, where the answer goes, and how to say that the work is done.
"""

from typing import Literal

from carrel.delivery.heading import TaskHeading
from carrel.exchanges import NO_REPLY

Asked = Literal["work", "go_on", "review", "correct", "answer", "follow"]
# The first sentence, by the reason why the agent was woken.
_BEGUN = {"assignment": "You were assigned to this task.", "stalled": "You have begun to work on this task."}
_TICK = "You are asked again until the task is done; your answers stay in this session."
# The statuses in which the assignee works on a task.
_AT_WORK = ("assigned", "in_progress")
# Messages of others in a thread, and changes of a task; a message of an agent asks for nothing by itself.
_NEWS = ("thread_update", "status_change")


def asked_of(told: TaskHeading) -> Asked:
    """Return what a turn is asked: to do the work, to go on with it at a tick, to review, or to answer.

    An assignee may be asked to `correct` its work; whoever only needs to know is asked to `follow`.
    """
    if told.notice in _BEGUN:
        return "work"
    if told.is_tick:
        return "go_on"
    if told.is_reviewer:
        return "review"
    if told.notice == "status_change":
        # A reviewer or a person sent the task back to work.
        return "work" if told.is_assigned and told.status in _AT_WORK else "follow"
    if told.is_assigned and told.status in (*_AT_WORK, "review", "blocked"):
        return "correct"
    return "follow" if is_news(told) else "answer"


def is_news(told: TaskHeading) -> bool:
    """Return whether a notification asks for nothing by itself, so that no answer is needed."""
    return told.notice in _NEWS and not told.by_a_person


def task_parts(told: TaskHeading, offered: frozenset[str]) -> list[str]:
    """Return the parts of the instructions of a turn on a task; they name only tools that are offered."""
    if told.is_chat:
        return [_about(told, offered), _coordination(offered), _silence(told)]
    parts = [_about(told, offered), _asked(told, offered), _status_rules(offered), _silence(told)]
    return [part for part in parts if part]


def asked_again(told: TaskHeading | None, silences: int) -> str:
    """Return what is added when an agent has not answered, `silences` times, although somebody waits for it."""
    times = "once" if silences == 1 else f"{silences} times"
    skipping = (
        f" If it is not for you to answer, answer {NO_REPLY} and nothing else."
        if told is not None and asked_of(told) in ("answer", "correct")
        else ""
    )
    return f"You were asked this before and answered nothing, {times}. Somebody waits: answer now, in words.{skipping}"


def _about(told: TaskHeading, offered: frozenset[str]) -> str:
    message = "message" if told.notice is None else "notification"
    whose = "this chat's" if told.is_chat else "its"
    more = f" For more of {whose} history, call task_history." if "task_history" in offered else ""
    if told.is_elsewhere and not told.is_chat:
        return f"Answer only this {message}, which is about this task; all else here is for reference.{more}"
    of_plan = ", and what is said here of its plan and of the tasks that it depends on" if told.tells_plan else ""
    known = (
        "what is said here, the overview of tasks, and what your tools return"
        if told.is_chat
        else f"the history of this task{of_plan}; nothing of other tasks is known here or may be assumed"
    )
    return f"Answer only this {message}, and use only {known}.{more}"


def _asked(told: TaskHeading, offered: frozenset[str]) -> str:
    match asked_of(told):
        case "work":
            return _work(told, offered)
        case "go_on":
            return f"{_TICK} {_ready(told, offered)}"
        case "review":
            return _review(told, offered)
        case "correct":
            return f"{_answer(told, _taken_up(told, offered))} {_ready(told, offered)}"
        case "answer":
            return f"{_answer(told)}{_asked_to_review(told, offered)}"
        case "follow":
            return f"This is for your information. What you answer {_place(told)}."


def _answer(told: TaskHeading, first: str = "") -> str:
    return (
        f"Answer now, in this turn: nobody wakes you afterwards, and your answer {_place(told)}. Where work is "
        f"asked of you, {first}do it before you answer and make your answer the result."
    )


def _place(told: TaskHeading) -> str:
    return "is posted in the task's thread" if told.is_posted else "goes to whoever asked"


def _work(told: TaskHeading, offered: frozenset[str]) -> str:
    begun = _BEGUN.get(told.notice or "", "This task is back with you.")
    others = (
        " Others are assigned too: do your part, say which it is, and leave theirs to them; whoever finds all parts "
        "ready says so."
        if told.has_co_assignees
        else ""
    )
    return (
        f"{begun} Do the work now, in this turn: nobody wakes you afterwards. Your final answer is posted in the "
        f"task's thread, so make it the result itself and not an announcement.{others} {_ready(told, offered)}"
    )


def _ready(told: TaskHeading, offered: frozenset[str]) -> str:
    """How to say that the work is done."""
    if "task_status" not in offered:
        return "Your answer is what says that the work is done; where it is not, say what is left."
    if told.is_planned:
        return "When it is done, set it to done with task_status: until you do, it stays in progress."
    if told.may_finish:
        return "When it is done, move the task with task_status to review and then to done."
    return "When it is ready, move the task with task_status to review; done is for whoever reviews it."


def _taken_up(told: TaskHeading, offered: frozenset[str]) -> str:
    return "set in_progress, " if told.status in ("review", "blocked") and "task_status" in offered else ""


def _review(told: TaskHeading, offered: frozenset[str]) -> str:
    return (
        f"You review this task, now, in this turn: {_judgement(told, offered)} Your answer is posted in the task's "
        "thread, and whoever works on it is told."
    )


def _asked_to_review(told: TaskHeading, offered: frozenset[str]) -> str:
    """What an agent is told in addition when it is called to a task in review."""
    if told.notice is None or told.status != "review":
        return ""
    return f" The task is in review. Where you are asked to review it: {_judgement(told, offered)}"


def _judgement(told: TaskHeading, offered: frozenset[str]) -> str:
    if "task_status" not in offered:
        accept, return_it = "say that you accept it", "name"
    else:
        accept = "set it to done with task_status" if told.may_finish else "say that you accept it"
        return_it = "set it to in_progress with task_status and name"
    return (
        f"hold what was done against what was asked. If nothing is missing, {accept}; otherwise {return_it} what is "
        "missing."
    )


def _status_rules(offered: frozenset[str]) -> str:
    rules = []
    if "task_status" in offered:
        rules.append("Change the status with task_status before you say that it has changed.")
    if "response_request" in offered:
        rules.append("To hear from another agent, call response_request; a mention in your answer reaches nobody.")
    return " ".join(rules)


def _silence(told: TaskHeading) -> str:
    if not is_news(told) or asked_of(told) in ("work", "review"):
        return ""
    return f"If nothing is asked of you, answer {NO_REPLY} and nothing else."


def _coordination(offered: frozenset[str]) -> str:
    def by(tool: str) -> str:
        return f" with {tool}" if tool in offered else ""

    return (
        "This is the account's orchestrator chat. You only coordinate here: you give work to other agents"
        f"{by('task_assign')}, follow it up and report, but do none of it yourself. Never assign yourself. Change the "
        f"status of a task{by('task_status')} before you say that it has changed.\n"
        "Keep this order:\n"
        "1. Move a task to review before you ask anybody to review it.\n"
        f"2. Ask reviewers{by('response_request')}, never by mentioning them: mentions reach nobody.\n"
        f"3. Raise what must follow as tasks of its own{by('task_create')}.\n"
        "4. Only then move the task to done."
    )
