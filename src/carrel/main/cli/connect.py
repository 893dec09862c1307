"""`connect`: find out what a model server speaks, write it into the settings, and let it answer once."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.bridge import Client, owner_token, running_url
from carrel.kernel import Refusal, elapsed_seconds
from carrel.main.cli.command import JSON, LOCAL_OPTIONS, YES, Exit, Failure, command, option
from carrel.main.cli.discovery import local_settings, local_settings_file, read_settings
from carrel.main.cli.output import Screen
from carrel.main.cli.run_results import show_result, wait_for
from carrel.main.replace_file import changed_lines, replace_file, text_of

if TYPE_CHECKING:
    from carrel.gateway import ModelServer, Probe

GATEWAY = "default"
HELLO = "Say hello in one short sentence."
TURN_SECONDS = 300.0
_SERVE = "import sys; from carrel.main.cli import main; sys.exit(main())"


def connect_model(args: Namespace, screen: Screen) -> int:
    from carrel.main.settings import SettingsFault

    server = _server(args, screen)
    key_env = args.key_env or ("" if args.key_file else server.key_env)
    found = _probe(server, _key(key_env, args.key_file), screen)
    kind = args.kind or server.best_of(found.kinds)
    if kind not in found.kinds:
        raise Failure(Exit.FAILED, f"{server.base_url} speaks {', '.join(found.kinds)}, not {kind}.")
    model = _model(args, found, screen)
    fields = {"kind": kind, "base_url": server.base_url, "model": model}
    fields |= {"api_key_env": key_env} if key_env else {}
    fields |= {"api_key_file": str(args.key_file.expanduser().absolute())} if args.key_file else {}
    path = local_settings_file(args).path
    with suppress(SettingsFault):
        # Go on with wrong settings: what is written now may correct them.
        running_server(args, path)
    _write(path, fields, args, screen)
    return _try(args, path, screen)


def _server(args: Namespace, screen: Screen) -> "ModelServer":
    from carrel.gateway import MODEL_SERVERS, model_server

    named: str = args.server or _ask(f"Which server ({', '.join(MODEL_SERVERS)}, or its URL)?", screen)
    try:
        return model_server(named)
    except Refusal as refusal:
        raise Failure(Exit.USAGE, refusal.message) from refusal


def _ask(question: str, screen: Screen) -> str:
    if not sys.stdin.isatty():
        raise Failure(Exit.USAGE, f"{question} Name it on the command line: `carrel connect --help`.")
    return screen.ask(question)


def _key(key_env: str, key_file: Path | None) -> str:
    """Return the key for the probe; the settings will only name where it is kept."""
    from carrel.gateway import gateway_key
    from carrel.kernel.settings import GatewaySettings

    settings = GatewaySettings(api_key_env=key_env, api_key_file=str(key_file or ""))
    try:
        return gateway_key(GATEWAY, settings)
    except ValueError as error:
        hint = f" Run: export {key_env}=…" if key_env else ""
        raise Failure(Exit.FAILED, f"{error}.{hint}") from error


def _probe(server: "ModelServer", key: str, screen: Screen) -> "Probe":
    with screen.waiting(f"asking {server.base_url} what it speaks…"):
        found = probe_server(server.base_url, key)
    if found.trouble:
        raise Failure(Exit.NOT_REACHABLE, " ".join(filter(None, (found.trouble, server.start))))
    if found.needs_key:
        why = "It refuses this key" if key else "It needs a key"
        raise Failure(Exit.NOT_ALLOWED, f"{why}: name its variable with --key-env, or its file with --key-file.")
    count = f"{len(found.models)} models" if len(found.models) != 1 else "1 model"
    screen.note(f"{server.base_url} speaks {', '.join(found.kinds)}; it lists {count}.")
    return found


def probe_server(base_url: str, key: str) -> "Probe":
    # Imported only when needed, so that the help does not wait for them.
    import asyncio

    from carrel.gateway import probe
    from carrel.wire import Wire

    async def ask() -> "Probe":
        wire = Wire()
        try:
            return await probe(base_url, key, wire)
        finally:
            await wire.close()

    return asyncio.run(ask())


def _model(args: Namespace, found: "Probe", screen: Screen) -> str:
    if args.model:
        if found.models and args.model not in found.models:
            meant = Refusal.nearest(args.model, found.models)
            screen.note(f"The server does not list '{args.model}'" + (f"; did you mean {meant}?" if meant else "."))
        return str(args.model)
    if len(found.models) == 1 or "openclaw" in found.kinds:
        return found.models[0]
    listed = ", ".join(found.models[:20]) + (", …" if len(found.models) > 20 else "")
    named = _ask(f"Which model{f' ({listed})' if listed else ''}?", screen)
    if not named:
        raise Failure(Exit.USAGE, "No model was named. Nothing was changed.")
    return named


def running_server(args: Namespace, path: Path) -> Client | None:
    """Return the server that is running here, None without one; fail if it reads another settings file."""
    from carrel.main.settings_file import is_same

    data_dir = read_settings(args).settings.storage.data_dir
    url = running_url(data_dir)
    if not url:
        return None
    client = Client(url, owner_token(data_dir))
    file = client.get("/api/settings")["file"]
    if not is_same(Path(file), path):
        raise Failure(
            Exit.FAILED,
            f"The running server reads its settings from {file}, not from {path.absolute()}. "
            f"Pass --config {file}, or restart the server in this directory.",
        )
    return client


def _write(path: Path, fields: dict[str, str], args: Namespace, screen: Screen) -> None:
    """Show what changes in the settings file and, once a person agrees, write it."""
    from carrel.main.settings_edit import with_gateway

    before = text_of(path)
    try:
        after = with_gateway(before, GATEWAY, fields)
    except Refusal as error:
        raise Failure(Exit.FAILED, f"{path}: {error}") from error
    for line in changed_lines(path, before, after, around=1):
        screen.note(line)
    if before == after:
        screen.note(f"{path} says so already.")
        return
    if sys.stdin.isatty() and not args.yes and _ask(f"Write {path}? [Y/n]", screen).lower() not in ("", "y", "yes"):
        raise Failure(Exit.FAILED, "Nothing was changed.")
    replace_file(path, after)
    screen.note(f"Wrote {path.absolute()}.")


def _try(args: Namespace, path: Path, screen: Screen) -> int:
    """Let the running server apply the change, or start one briefly, and make one turn."""
    settings = local_settings(args).settings
    client = running_server(args, path)
    if client is not None:
        client.post("/api/settings/reload")
        return _hello(client, screen)
    with _server_for_a_moment(args, path, settings.storage.data_dir) as client:
        code = _hello(client, screen)
    screen.note("Start the server with `carrel up`, then talk to it with `carrel chat`.")
    return code


def _hello(client: Client, screen: Screen) -> int:
    begun = elapsed_seconds()
    run = wait_for(client, client.send(None, HELLO).run_id, screen, seconds=TURN_SECONDS)
    code = show_result(run, screen)
    if screen.as_json:
        screen.json({"run": run.raw})
    elif run.state == "completed":
        cost = "" if run.usage.cost_usd is None else f", ${run.usage.cost_usd:.4f}"
        tokens = f"{run.usage.input_tokens} tokens in, {run.usage.output_tokens} out{cost}"
        screen.note(f"Connected: it answered in {elapsed_seconds() - begun:.1f} s ({tokens}).")
    return code


@contextmanager
def _server_for_a_moment(args: Namespace, path: Path, data_dir: Path) -> Iterator[Client]:
    """Run a server on a free port until the block ends."""
    import subprocess

    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--config", str(path)]
    if args.data_dir is not None:
        command += ["--data-dir", str(args.data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None, "it was asked for"
            for line in process.stdout:
                if line.startswith("ready "):
                    yield Client(line.split()[1], owner_token(data_dir))
                    return
            raise Failure(Exit.FAILED, "The server did not start; `carrel up` shows why.")
        finally:
            process.terminate()


COMMANDS = (
    command(
        "connect", "connect a model: probe it, write the settings, make one turn", connect_model,
        option("server", "NAME|URL", "ollama, lmstudio, llamacpp, vllm, openai, …, or a URL", nargs="?"),
        option("--model", "M", "the model to use"),
        option("--kind", "", "the dialect, if it speaks several",
               choices=("openclaw", "responses", "chat", "anthropic")),
        option("--key-env", "NAME", "the environment variable that holds the key"),
        option("--key-file", "FILE", "a file that only you can read, with the key", type=Path),
        YES, JSON, common=LOCAL_OPTIONS,
        examples=("ollama --model qwen3", "anthropic --key-env ANTHROPIC_API_KEY"),
    ),
)  # fmt: skip
