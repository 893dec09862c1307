"""`runs receipt`, `compare` and `why`: what an agent saw, how two runs differ, and why a run is not progressing."""

from argparse import Namespace
from functools import partial
from typing import Any

from carrel.main.cli.command import Exit, Failure, command, option
from carrel.main.cli.discovery import connect
from carrel.main.cli.humanize import age, in_words
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item
from carrel.main.cli.run_results import refusal_in, show_result, wait_for
from carrel.main.cli.runs import RUN, RUNS

_BAR_CELLS = 24
_SHOWN_LINES = 6
_REPLAY_SECONDS = 600

# The commands that do what a reason advises to do with a run.
_COMMANDS_OF = {
    "answer": "carrel runs answer",
    "cancel": "carrel runs cancel",
    "retry": "carrel runs retry",
    "wait": "carrel runs wait",
    "let it go on": "carrel runs allow",
    "stop the session": "carrel runs stop",
}


def _show_receipt(answer: dict[str, Any], args: Namespace, screen: Screen) -> None:
    steps = [step for step in answer["steps"] if args.step in (None, step["n"])]
    if not steps:
        raise Failure(Exit.FAILED, "No such step; the agent has not been sent that many requests.")
    screen.line(f"What the agent saw in {answer['runId']}")
    screen.facts([("session", answer["sessionKey"]), ("generation", answer["generation"])])
    for step in steps:
        _show_step(step, screen, in_full=args.full)


def _show_step(step: Item, screen: Screen, *, in_full: bool) -> None:
    screen.line()
    screen.out.write(screen.paint("bold", f"Step {step['n']}") + f"  attempt {step['attempt']}")
    screen.line(f"  {step.get('model') or 'no model'}  {in_words(step.get('sentAt')) or 'nothing was sent'}")
    sections = [
        (f"instructions {step.get('instructionsVersion') or ''}".strip(), _text(step.get("instructions"))),
        ("input", _text(step.get("input"))),
        ("output", _text(step.get("output"))),
    ]
    largest = max(len(text) for _, text in sections) or 1
    for name, text in sections:
        screen.line(f"  {name:<18} {bar(len(text), largest)} {len(text):>7,} characters")
    _show_tools(step, screen)
    for name, text in sections:
        if text:
            screen.line()
            screen.out.write("  " + screen.paint("cyan", name) + "\n")
            _show_text(text, screen, in_full=in_full)


def _show_tools(step: Item, screen: Screen) -> None:
    tools = step.get("tools") or []
    screen.line(f"  tools ({len(tools)})".ljust(21) + (", ".join(str(tool) for tool in tools) or "none"))
    for item in (step.get("context") or {}).get("items", []):
        screen.line(f"  remembered         {item['id']} of {item['scope']}: {item['reason']}")
    if step.get("leftOut"):
        screen.line(f"  cannot be told     {', '.join(step['leftOut'])}")
    if step.get("historyOmitted"):
        screen.line(f"  left out           {step['historyOmitted']} earlier messages")


def _show_text(text: str, screen: Screen, *, in_full: bool) -> None:
    lines = text.splitlines()
    shown = lines if in_full else lines[:_SHOWN_LINES]
    for line in shown:
        screen.line(f"    {line if in_full else first_line(line, 110)}")
    if len(lines) > len(shown):
        screen.line(f"    … {len(lines) - len(shown)} more lines; --full shows them")


def bar(size: int, largest: int) -> str:
    """Return a size as a small bar; only 0 is drawn empty."""
    cells = max(1, round(_BAR_CELLS * size / largest)) if size else 0
    return ("█" * cells).ljust(_BAR_CELLS, "·")


def _text(value: object) -> str:
    """Return instructions, input or output as text; items become `role: text`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(item) for item in value)
    if isinstance(value, dict):
        return _item_text(value)
    return str(value)


def _item_text(item: dict[str, Any]) -> str:
    match item.get("type"):
        case "function_call":
            return f"→ {item.get('name')}({item.get('arguments')})"
        case "function_call_output":
            output = _text(item.get("output"))
            refusal = refusal_in(output)
            return f"✗ refused: {refusal}" if refusal else f"← {output}"
        case _:
            words = _text(item.get("content") or item.get("text") or "")
            return f"{item['role']}: {words}" if item.get("role") else words


def _show_compared(answer: dict[str, Any], _: Namespace, screen: Screen) -> None:
    if answer["same"]:
        screen.line("Both runs saw the same.")
        return
    for part in ("instructions", "input"):
        screen.line(f"{part}: {'the same' if answer[part]['same'] else 'different'}")
        diff = answer[part].get("diff") or ()
        for line in diff.splitlines() if isinstance(diff, str) else (str(one).rstrip("\n") for one in diff):
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            screen.out.write("  " + (screen.paint(colour, _flat(line)) if colour else _flat(line)) + "\n")
    screen.line("tools:")
    for sign, name, colour in (("+", "added", "green"), ("-", "removed", "red")):
        for tool in answer["tools"].get(name) or []:
            screen.out.write("  " + screen.paint(colour, f"{sign} {_flat(tool)}") + "\n")


def _flat(text: str) -> str:
    return "".join(sign if sign.isprintable() or sign == "\t" else "�" for sign in text)


def replay(args: Namespace, screen: Screen) -> int:
    asked = {name: value for name in ("gateway", "model", "step") if (value := getattr(args, name)) is not None}
    with connect(args) as client:
        started = RUNS.of(client, args.run_id, lambda run_id: client.post(RUNS.at(run_id, "replay"), asked))
        run = wait_for(client, started["runId"], screen, seconds=_REPLAY_SECONDS)
        if run.state != "completed":
            return show_result(run, screen)
        before, after = (client.get(RUNS.at(started[one], "receipt"))["steps"] for one in ("replayedFrom", "runId"))
    original = next(step for step in reversed(before) if args.step in (None, step["n"]))
    steps = {"original": original, "replayed": after[-1]}
    answers = {name: {key: step[key] for key in ("model", "output")} for name, step in steps.items()}
    if screen.as_json:
        return screen.json({**started, **answers})
    for title, answer in answers.items():
        screen.out.write(screen.paint("bold", f"{title}: {_flat(answer['model'])}") + "\n")
        for line in (_text(answer["output"]) or "(no text)").split("\n"):
            screen.line(line)
    same = answers["original"]["output"] == answers["replayed"]["output"]
    screen.line("The answers are the same." if same else "The answers differ. No call was made.")
    return Exit.OK


def show_reasons(answer: dict[str, Any], args: Namespace, screen: Screen, *, moving: str) -> None:
    """Show why a run or a task is not moving, and what would help, for a run with its commands; or that it moves."""
    run_id = getattr(args, "run_id", None)
    if not answer["reasons"]:
        screen.line(moving)
    for reason in answer["reasons"]:
        # An end is a moment; other reasons last.
        passed = f"{age(reason['since'])} ago" if reason["code"] == "done" else f"for {age(reason['since'])}"
        since = f" ({passed})" if reason.get("since") else ""
        first, *rest = reason["text"].split("\n")
        for line in (f"{first}{since}", *rest):
            screen.line(line)
        for action in reason.get("actions") or []:
            command = _COMMANDS_OF.get(action) if run_id else None
            screen.line(f"  → {action}" + (f": `{command} {run_id}`" if command else ""))


COMMANDS = (
    RUNS.does("why", "explain why a run is not progressing, or how it ended", "GET why",
              partial(show_reasons, moving="The run is progressing.")),
    RUNS.does(
        "receipt", "show what the agent saw", "GET receipt", _show_receipt,
        option("--step", "N", "only this step", type=int, field=""),
        option("--full", "", "print every line", action="store_true", field=""),
        sends={"body": False}, examples=("last --step 1 --full",),
    ),
    command(
        "runs replay", "send a step of a run once more, to another model, and show both answers", replay, RUN,
        option("--gateway", "NAME", "the connection to ask (default: the agent's)"),
        option("--model", "MODEL", "the model to ask for (default: the same)"),
        option("--step", "N", "which step (default: the last)", type=int),
    ),
    RUNS.does(
        "compare", "compare the receipts of two runs", "GET receipt/compare", _show_compared,
        option("other", "OTHER_RUN", "the run to compare it with", of=RUNS.of, field="with"),
        examples=("last run_01m7knxt1p",),
    ),
)  # fmt: skip
