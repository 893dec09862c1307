"""Loading the settings: environment over file over default, with all mistakes reported at once.

The kernel defines the settings. This module finds their values, records where each came from, and refuses wrong ones
before anything starts.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from carrel.kernel import clip, is_loopback
from carrel.kernel.limits import PING_PONG_TURNS_MAX
from carrel.kernel.settings import GatewaySettings, SettingRow, Settings
from carrel.main import setting_names
from carrel.main.setting_aliases import aliased_settings
from carrel.main.setting_names import NAMED_SECTIONS, KnownSetting, Name
from carrel.main.setting_rules import ambiguous_names, name_problem, problems_of
from carrel.main.settings_file import DATA_DIR_VARIABLE, FILE_NAME, SettingsFile, is_same, settings_file

PREFIX = "CARREL_"
# Variables with our prefix that belong to the command line or the test suite.
NOT_SETTINGS = frozenset({"CARREL_URL", "CARREL_TOKEN", "CARREL_REQUIRE_ALL", "CARREL_CHROMIUM"})

Source = Literal["default", "file", "env"]


class LoadedSettings(Struct, frozen=True, kw_only=True):
    """The settings in force, their file, a table of them for display, and notices for the operator."""

    settings: Settings
    file: SettingsFile
    rows: list[SettingRow]
    notices: list[str]


class SettingsFault(Exception):
    """The settings are invalid; `problems` has one sentence per mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _Found(Struct, frozen=True, kw_only=True):
    """A value that was given, and the spelling to show when it is wrong."""

    value: object
    source: Source
    spelling: str


Known = dict[Name, KnownSetting]
Found = dict[Name, _Found]


def load(config: Path | None, env: Mapping[str, str], overrides: Mapping[str, object]) -> LoadedSettings:
    """Return the settings in force, or raise `SettingsFault` with every mistake.

    `config` names the settings file; without it, `settings_file` finds the one that applies. `overrides` are dotted
    names and values from the command line; their source is shown as `env`, because the public table knows only three.
    """
    problems, notices, found = list[str](), list[str](), Found()
    names = setting_names.known_names()
    file = settings_file(config, env, overrides.get("storage.data_dir"))
    _read_file(file, names, found, problems)
    _read_environment(env, names, found, problems)
    _read_aliases(env, found, problems, notices)
    for dotted, value in overrides.items():
        found[tuple(dotted.split("."))] = _Found(value=value, source="env", spelling=dotted)
    for section, chosen in sorted({name[:2] for name in found if name[0] in NAMED_SECTIONS}):
        names.update(setting_names.known_named(section, chosen))
    values = _check(names, found, problems, notices)
    if problems:
        raise SettingsFault(problems)
    settings = _assemble(values)
    return LoadedSettings(settings=settings, file=file, rows=_rows(names, found, values, settings), notices=notices)


def _read_file(file: SettingsFile, names: Known, found: Found, problems: list[str]) -> None:
    path = file.path
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if file.origin == "option":
            problems.append(f"{path}: file not found; `carrel init` creates one.")
        return
    except OSError as fault:
        problems.append(f"{path}: cannot be read: {fault.strerror}.")
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        problems.append(f"{path}: is not TOML: {fault}.")
        return
    sections = {name[:depth] for name in names for depth in range(1, len(name))}
    for written, value in _walk(table, (), sections):
        name = _canonical(written)
        spelling = f"{'.'.join(written)} in {path}"
        if name in sections or (len(name) == 1 and name[0] in NAMED_SECTIONS):
            problems.append(f"{spelling}: is a section; set its names under [{'.'.join(written)}].")
        elif problem := _unknown(name, names, spelling, in_environment=False):
            problems.append(problem)
        elif name in found:
            problems.append(f"{spelling}: is set twice, in two spellings.")
        else:
            found[name] = _Found(value=_anchored(name, value, file.folder), source="file", spelling=spelling)
    problems += _elsewhere(file, found)


def _anchored(name: Name, value: object, folder: Path) -> object:
    """Return a value of a file in which relative paths begin at the file, wherever the server is started."""
    if not isinstance(value, str) or not value:
        return value
    if name == ("storage", "data_dir") or name[-1] in ("api_key_file", "secret_file"):
        return str(folder / Path(value).expanduser())
    start, is_sqlite, path = value.partition("sqlite:///")
    if name == ("storage", "url") and is_sqlite and path and not start:
        return f"sqlite:///{folder / Path(path).expanduser()}"
    return value


def _elsewhere(file: SettingsFile, found: Mapping[Name, _Found]) -> Iterator[str]:
    """Yield the mistake of a data directory whose settings name another data directory."""
    given = found.get(("storage", "data_dir"))
    if file.origin != "data directory" or given is None or not isinstance(given.value, str):
        return
    if is_same(Path(given.value), file.folder):
        return
    yield (
        f"{given.spelling}: names {given.value}, but this file is that of the data directory {file.folder}. "
        f"Remove the line and set {DATA_DIR_VARIABLE}={given.value}, which has its settings in its own {FILE_NAME}."
    )


def _walk(table: Mapping[str, Any], above: Name, sections: set[Name]) -> Iterable[tuple[Name, object]]:
    """Yield each value of a TOML table with its path as written, descending only into sections.

    A gateway with an empty table exists, with every default. The headers of an MCP server are one value.
    """
    for key, value in table.items():
        written = (*above, key)
        name = _canonical(written)
        inside = name in sections or (name[0] in NAMED_SECTIONS and len(name) < 3) or not sections & {name[:1]}
        if name[0] == "gateway" and len(name) == 2 and value == {}:
            yield (*written, "kind"), GatewaySettings().kind
        elif isinstance(value, dict) and inside and not (name[0] == "mcp" and name[2:] == ("headers",)):
            yield from _walk(value, written, sections)
        else:
            yield written, value


def _canonical(written: Name) -> Name:
    """Normalize a path: snake case, and `sessions` for `session`; gateways and models keep their names."""
    if written[0] in NAMED_SECTIONS:
        return (*written[:2], *(setting_names.snake(word) for word in written[2:]))
    name = tuple(setting_names.snake(word) for word in written)
    return ("sessions", *name[1:]) if name[0] == "session" else name


def _unknown(name: Name, names: Known, spelling: str, *, in_environment: bool) -> str | None:
    """Return the error for an unknown name, with the setting that was probably meant; None if it is known."""
    candidates = names
    if name[0] in NAMED_SECTIONS:
        chosen = name[1] if len(name) == 3 else "default"
        if wrong := name_problem(name[0], chosen):
            return f"{spelling}: {wrong}"
        candidates = setting_names.known_named(name[0], chosen)
    if name in candidates:
        return None
    meant = setting_names.nearest(name, candidates)
    words = env_name(meant) if in_environment else ".".join(meant)
    return f"{spelling}: unknown setting; did you mean {words}?"


def env_name(name: Name) -> str:
    """Return the environment variable for a setting."""
    return PREFIX + "__".join(name).upper()


def _read_environment(env: Mapping[str, str], names: Known, found: Found, problems: list[str]) -> None:
    for variable in sorted(env):
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        name = _canonical(tuple(variable.removeprefix(PREFIX).lower().split("__")))
        if problem := _unknown(name, names, variable, in_environment=True):
            problems.append(problem)
            continue
        known = names.get(name) or setting_names.known_named(name[0], name[1])[name]
        found[name] = _Found(value=setting_names.read_text(env[variable], known), source="env", spelling=variable)


def _read_aliases(env: Mapping[str, str], found: Found, problems: list[str], notices: list[str]) -> None:
    for variable, name, value in aliased_settings(env, problems):
        ours = env_name(name)
        if value is None:
            notices.append(f"{variable} is not used: Carrel has one figure for this, {ours}.")
        elif name in found and found[name].source == "env":
            notices.append(f"{variable} is not used: {found[name].spelling} sets the same thing and wins.")
        else:
            found[name] = _Found(value=value, source="env", spelling=variable)
            dotted, text = ".".join(name), _quoted(value).strip('"')
            notices.append(f"{variable} is read as {dotted} = {text}; its name in Carrel is {ours}.")


_ROUNDS = ("sessions", "agent_to_agent", "max_ping_pong_turns")


def _check(names: Known, found: Found, problems: list[str], notices: list[str]) -> dict[Name, object]:
    """Return the given values converted to their types; a value that does not fit becomes a problem."""
    values: dict[Name, object] = {}
    for name, given in found.items():
        known = names[name]
        try:
            values[name] = setting_names.checked(given.value, known)
        except msgspec.ValidationError:
            actual = "" if known.secret or known.address else f", not {_quoted(given.value)}"
            if name == ("tools", "sessions", "visibility"):
                notices.append(f"{given.spelling}: must be {known.form}{actual}; using tree.")
            elif name == _ROUNDS and (rounds := _rounds(given.value)) is not None:
                values[name] = rounds
                notices.append(f"{given.spelling}: must be {known.form}{actual}; using {rounds}.")
            else:
                problems.append(f"{given.spelling}: must be {known.form}{actual}.")
    for section in NAMED_SECTIONS:
        names_chosen = sorted({name[1] for name in values if name[0] == section})
        problems += ambiguous_names(names_chosen) if section == "mcp" else ()
        for chosen in names_chosen:
            fields = {name[2]: value for name, value in values.items() if name[:2] == (section, chosen)}
            problems += problems_of(section, chosen, fields)
    problems += _trust_problems(values)
    return values


def _rounds(value: object) -> int | None:
    """Return the allowed number of rounds nearest to a given one; None if that is not a whole number."""
    try:
        return min(PING_PONG_TURNS_MAX, max(0, int(str(value))))
    except ValueError:
        return None


def _trust_problems(values: dict[Name, object]) -> Iterator[str]:
    """Yield the settings that trust callers on this machine although clients elsewhere come through a proxy on it.

    A proxy need not say that it forwards a request, and then the request looks like one of this machine.
    """
    public_url = str(values.get(("server", "public_url"), ""))
    for name in (("auth", "mode"), ("agent_http", "session_key_auth")):
        if values.get(name) == "loopback" and public_url and not is_loopback(urlsplit(public_url).hostname):
            yield f"{'.'.join(name)}: must not be loopback while server.public_url is an address that others can reach."


def _quoted(value: object) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, msgspec.MsgspecError):
        text = str(value)
    return clip(text, 80)


def _assemble(values: dict[Name, object]) -> Settings:
    directory = values.get(("storage", "data_dir"), Settings().storage.data_dir)
    address = values.get(("storage", "url"), "")
    assert isinstance(directory, Path)
    assert isinstance(address, str)
    tree: dict[str, Any] = {}
    home: dict[Name, object] = {
        ("storage", "data_dir"): str(directory.expanduser().absolute()),
        ("storage", "url"): re.sub("^sqlite:///~/", lambda _: f"sqlite:///{Path.home()}/", address),
    }
    for name, value in {**values, **home}.items():
        section = tree
        for word in name[:-1]:
            section = section.setdefault(word, {})
        section[name[-1]] = value
    return msgspec.convert(tree, Settings, dec_hook=setting_names.as_path)


def _rows(names: Known, found: Found, values: dict[Name, object], settings: Settings) -> list[SettingRow]:
    in_force: dict[Name, object] = {
        ("storage", "url"): settings.storage.url,
        ("storage", "data_dir"): settings.storage.data_dir,
    }
    defaults: dict[Name, object] = {("storage", "url"): f"sqlite:///{settings.storage.data_dir / 'carrel.db'}"}
    return [
        SettingRow(
            name=".".join(name),
            value=setting_names.shown(in_force.get(name, values.get(name, known.default)), known),
            default=setting_names.shown(defaults.get(name, known.default), known),
            source=found[name].source if name in values else "default",
        )
        for name, known in names.items()
    ]
