"""Printing the cards, tasks and events of A2A agents."""

import json
from typing import Any

from carrel.a2a import RemoteTask, interfaces_of, message_text
from carrel.main.cli.command import Exit
from carrel.main.cli.output import Screen, age, first_line

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
    run = RemoteTask({"task": task})
    files = _files(run)
    screen.facts(
        [
            ("task", run.id),
            ("context", run.context_id),
            ("state", run.state),
            ("since", run.status.get("timestamp")),
            ("status message", first_line(run.status_text) if run.status_text != run.text else ""),
            *(("file", name) for name in files),
        ]
    )
    if run.text:
        screen.line()
        screen.line(run.text)
    for message in run.history:
        screen.line()
        who = str(message["role"]).removeprefix("ROLE_").lower()
        screen.line(f"{who}: {message_text(message)}")
    return Exit.OK


def show_tasks(answer: Item, screen: Screen) -> int:
    """List tasks, and how to get the next page."""
    runs = [RemoteTask({"task": task}) for task in answer["tasks"]]
    rows = [
        (run.id, run.state, run.context_id, _age(run.status.get("timestamp")), first_line(run.status_text))
        for run in runs
    ]
    screen.table(("TASK", "STATE", "CONTEXT", "SINCE", "MESSAGE"), rows, empty="No tasks yet.")
    if answer.get("nextPageToken"):
        screen.note(f"More tasks: --page {answer['nextPageToken']}")
    return Exit.OK


def show_event(event: Item, text: str, run: RemoteTask, screen: Screen, *, is_new_state: bool) -> None:
    """Show one event: its text on stdout, a new state on stderr."""
    if screen.as_json:
        screen.line(json.dumps(event, ensure_ascii=False))
        screen.out.flush()
        return
    if text:
        screen.piece(text)
    if is_new_state and run.message is None:
        has_message = not run.is_resting and run.status_text
        screen.note(f"{run.state}: {first_line(run.status_text)}" if has_message else run.state)


def show_result(run: RemoteTask, url: str, screen: Screen, *, with_text: bool = True) -> int:
    """Show a task's result and return the exit code; only the reply goes to stdout."""
    is_shown = not screen.as_json
    if run.state == "completed":
        if is_shown and with_text:
            screen.line(run.text)
        for name in _files(run) if is_shown else ():
            screen.note(f"The agent also sent {name}; use --json to see it.")
        return Exit.OK
    if run.is_asking:
        if is_shown:
            screen.line(run.status_text or "The agent needs more input.")
        screen.note(f"Waiting ({run.state}). To answer: `carrel a2a send {url} TEXT --task {run.id}`")
        return Exit.OK
    if run.has_ended:
        ending = run.state if run.state == "failed" else f"was {run.state}"
        screen.note(f"The task {ending}: {run.status_text or 'no reason was given'}")
        return Exit.FAILED
    screen.note(f"Not finished yet ({run.state or 'unknown'}). To check again: `carrel a2a get {url} {run.id}`")
    return Exit.TIMED_OUT


def _skill(skill: Item) -> str:
    named = str(skill.get("name") or skill.get("id") or "")
    return f"{named}: {skill['description']}" if skill.get("description") else named


def _files(run: RemoteTask) -> list[str]:
    """Return the names of the parts that are not text."""
    wholes = [*run.artifacts, *([run.message] if run.message is not None else [])]
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
