"""How cards, tasks and events of A2A agents are shown to a person."""

import json
from typing import Any

from carrel.a2a import RemoteTask, interfaces_of, message_text
from carrel.main.cli.command import Exit
from carrel.main.cli.output import Screen, age, first_line

Item = dict[str, Any]


def show_card(card: Item, url: str, screen: Screen) -> int:
    """Show who an agent is, how it is reached and what it can do."""
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
    """Show everything about one task."""
    run = RemoteTask({"task": task})
    files = _files(run)
    screen.facts(
        [
            ("task", run.id),
            ("context", run.context_id),
            ("state", run.state),
            ("since", run.status.get("timestamp")),
            ("says", first_line(run.status_text) if run.status_text != run.text else ""),
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
    """Show tasks, a line each, and how to see more of them."""
    runs = [RemoteTask({"task": task}) for task in answer["tasks"]]
    rows = [
        (run.id, run.state, run.context_id, _age(run.status.get("timestamp")), first_line(run.status_text))
        for run in runs
    ]
    screen.table(("TASK", "STATE", "CONTEXT", "SINCE", "SAYS"), rows, empty="No tasks.")
    if answer.get("nextPageToken"):
        screen.note(f"There are more: --page {answer['nextPageToken']}")
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
        is_word = not run.is_resting and run.status_text
        screen.note(f"{run.state}: {first_line(run.status_text)}" if is_word else run.state)


def tell(run: RemoteTask, url: str, screen: Screen, *, with_text: bool = True) -> int:
    """Show what came of a task and return the number to end with; the answer alone goes to stdout."""
    is_shown = not screen.as_json
    if run.state == "completed":
        if is_shown and with_text:
            screen.line(run.text)
        for name in _files(run) if is_shown else ():
            screen.note(f"There is also {name}; --json shows it.")
        return Exit.OK
    if run.is_asking:
        if is_shown:
            screen.line(run.status_text or "It waits for more input.")
        screen.note(f"It waits ({run.state}); answer with `carrel a2a send {url} TEXT --task {run.id}`.")
        return Exit.OK
    if run.has_ended:
        screen.note(f"The task {run.state}: {run.status_text or 'no reason was given'}")
        return Exit.FAILED
    screen.note(f"Not finished yet ({run.state or 'unknown'}); `carrel a2a get {url} {run.id}` looks again.")
    return Exit.TIMED_OUT


def _skill(skill: Item) -> str:
    named = str(skill.get("name") or skill.get("id") or "")
    return f"{named}: {skill['description']}" if skill.get("description") else named


def _files(run: RemoteTask) -> list[str]:
    """What came besides text, by name."""
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
