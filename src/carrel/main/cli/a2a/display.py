"""Printing the cards, tasks and events of A2A agents."""

import json
from typing import Any

from carrel.a2a import RemoteTask, interfaces_of, message_text
from carrel.main.cli.command import Exit
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.wording import age

Item = dict[str, Any]


def show_card(card: Item, url: str, screen: Screen) -> int:
    """Show an agent's name, interfaces and skills."""
    provider = card.get("provider")
    capabilities = card.get("capabilities")
    can = [name for name, value in capabilities.items() if value is True] if isinstance(capabilities, dict) else []
    pairs: list[tuple[str, object]] = [(name, card.get(name)) for name in ("name", "description", "version")]
    pairs += [("provider", provider.get("organization") if isinstance(provider, dict) else None), ("card", url)]
    pairs += [("interface", f"{one.binding} {one.version} {one.url}") for one in interfaces_of(card, url)]
    pairs += [
        ("capabilities", can),
        ("input", card.get("defaultInputModes")),
        ("output", card.get("defaultOutputModes")),
    ]
    skills = card.get("skills")
    pairs += [("skill", _skill(one)) for one in skills if isinstance(one, dict)] if isinstance(skills, list) else []
    screen.facts(pairs)
    return Exit.OK


def show_task(task: Item, screen: Screen) -> int:
    """Show one task in full."""
    remote = RemoteTask({"task": task})
    files = _files(remote)
    screen.facts(
        [
            ("task", remote.id),
            ("context", remote.context_id),
            ("state", remote.state),
            ("since", remote.status.get("timestamp")),
            ("status message", first_line(remote.status_text) if remote.status_text != remote.text else ""),
            *(("file", name) for name in files),
        ]
    )
    if remote.text:
        screen.line()
        screen.line(remote.text)
    for message in remote.history:
        screen.line()
        who = str(message["role"]).removeprefix("ROLE_").lower()
        screen.line(f"{who}: {message_text(message)}")
    return Exit.OK


def show_tasks(answer: Item, screen: Screen) -> int:
    """List tasks, and how to get the next page."""
    tasks = [RemoteTask({"task": task}) for task in answer["tasks"]]
    rows = [
        (one.id, one.state, one.context_id, _age(one.status.get("timestamp")), first_line(one.status_text))
        for one in tasks
    ]
    screen.table(("TASK", "STATE", "CONTEXT", "SINCE", "MESSAGE"), rows, empty="No tasks yet.", whole_ids=True)
    if answer.get("nextPageToken"):
        screen.note(f"More tasks: --page {answer['nextPageToken']}")
    return Exit.OK


def show_event(event: Item, text: str, task: RemoteTask, screen: Screen, *, is_new_state: bool) -> None:
    """Show one event: its text on stdout, a new state on stderr."""
    if screen.as_json:
        screen.line(json.dumps(event, ensure_ascii=False))
        screen.out.flush()
        return
    if text:
        screen.piece(text)
    if is_new_state and task.message is None:
        has_message = not task.is_settled and task.status_text
        screen.note(f"{task.state}: {first_line(task.status_text)}" if has_message else task.state)


def show_result(task: RemoteTask, url: str, screen: Screen, *, with_text: bool = True) -> int:
    """Show a task's result and return the exit code; only the reply goes to stdout."""
    is_shown = not screen.as_json
    if task.state == "completed":
        if is_shown and with_text:
            screen.line(task.text)
        for name in _files(task) if is_shown else ():
            screen.note(f"The agent also sent {name}; use --json to see it.")
        return Exit.OK
    if task.is_asking:
        if is_shown:
            screen.line(task.status_text or "The agent needs more input.")
        screen.note(f"Waiting ({task.state}). To answer: `carrel a2a send {url} TEXT --task {task.id}`")
        return Exit.OK
    if task.has_ended:
        ending = task.state if task.state == "failed" else f"was {task.state}"
        screen.note(f"The task {ending}: {task.status_text or 'no reason was given'}")
        return Exit.FAILED
    screen.note(f"Not finished yet ({task.state or 'unknown'}). To check again: `carrel a2a get {url} {task.id}`")
    return Exit.TIMED_OUT


def _skill(skill: Item) -> str:
    named = str(skill.get("name") or skill.get("id") or "")
    return f"{named}: {skill['description']}" if skill.get("description") else named


def _files(task: RemoteTask) -> list[str]:
    """Return the names of the parts that are not text."""
    wholes = [*task.artifacts, *([task.message] if task.message is not None else [])]
    return [
        str(part.get("filename") or part.get("url") or whole.get("name") or "an unnamed part")
        for whole in wholes
        for part in whole["parts"]
        if "text" not in part
    ]


def _age(moment: Any) -> str:
    try:
        return age(moment)
    except (ValueError, TypeError):
        return str(moment)
