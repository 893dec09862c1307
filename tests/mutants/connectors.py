"""Mutants of MCP servers: who may use them, what they may send, and calls that are made once."""

from tests.mutants.model import Mutant

_CONNECTORS, _HOSTILE = "tests/connectors/test_connectors.py", "tests/connectors/test_hostile_servers.py"
_TURNS, _API = "tests/delivery/test_remote_tools.py", "tests/surfaces/api/test_mcp_servers.py"
CONNECTORS = (
    Mutant(
        "every account may use every MCP server",
        "connectors/connectors.py",
        "if _ALL in accounts or account_slug in accounts",
        "if accounts or account_slug in accounts",
        _CONNECTORS,
    ),
    Mutant(
        "a call reaches a server that the account may not use",
        "connectors/connectors.py",
        "if server is None or tool.server not in self.usable(account_slug):",
        "if server is None:",
        _CONNECTORS,
    ),
    Mutant(
        "tools that the settings deny are offered",
        "connectors/listing.py",
        "return among(settings.allow) and not among(settings.deny)",
        "return among(settings.allow)",
        _CONNECTORS,
    ),
    Mutant(
        "a tool of a server has the name of one of ours",
        "connectors/listing.py",
        "elif names[name] in taken:",
        "elif not names[name]:",
        f"{_HOSTILE} -k ours",
    ),
    Mutant(
        "two servers may have tools of one name",
        "main/mcp_settings.py",
        'if name.startswith(f"{other}_"):',
        'if name == f"{other}_":',
        "tests/main/test_mcp_settings.py",
    ),
    Mutant(
        "a server's tool is offered beside the sender's function of its name",
        "tools/toolset.py",
        "    if replaced:",
        "    if not replaced and replaced:",
        f"{_TURNS} -k sender",
    ),
    Mutant(
        "a server that is called goal may write in plan mode",
        "tools/toolset.py",
        "tool.server is None and any(fnmatchcase(",
        "any(fnmatchcase(",
        f"{_TURNS} -k family",
    ),
    Mutant(
        "a tool without a hint only reads",
        "connectors/listing.py",
        "tool.annotations is not None and tool.annotations.read_only_hint is True and not is_written",
        "tool.annotations is None or tool.annotations.read_only_hint is True",
        _TURNS,
    ),
    Mutant(
        "a tool that wrote is believed that it reads now",
        "connectors/listing.py",
        "tool.annotations.read_only_hint is True and not is_written",
        "tool.annotations.read_only_hint is True",
        _HOSTILE,
    ),
    Mutant(
        "a tool that has changed is called as if it were the same",
        "connectors/server.py",
        "if present is None or present.digest != tool.digest:",
        "if present is None:",
        _HOSTILE,
    ),
    Mutant(
        "messages that nobody asked for have no end",
        "programs/flood.py",
        "if self._unasked > self._messages_max:",
        "if self._unasked < 0:",
        f"{_HOSTILE} -k floods",
    ),
    Mutant(
        "a server that died is started again at once",
        "connectors/server.py",
        "if wait > 0:",
        "if wait > 1_000_000:",
        _CONNECTORS,
    ),
    Mutant(
        "the children of a program outlive it",
        "programs/watcher.py",
        "while left := _children():",
        "while left := []:",
        "tests/programs -k leaves_behind",
    ),
    Mutant(
        "programs outlive a server that was killed",
        "programs/watcher.py",
        "while started.code is None and line not in ready:",
        "while started.code is None:",
        "tests/programs -k killed",
    ),
    Mutant(
        "results show what a server was given",
        "connectors/results.py",
        "text = hidden.removed(redact(whole, _TEXT_CHARS_MAX))",
        "text = redact(whole, _TEXT_CHARS_MAX)",
        _CONNECTORS,
    ),
    Mutant(
        "a call whose worker died is made again",
        "tools/remote.py",
        'record_call(tx, caller.access, caller.own_run.id, call_id, tool=name, effect=tool.effect, result="")',
        "pass",
        f"{_TURNS} -k crash",
    ),
    Mutant(
        "a run that is lost in a call of an MCP server ends instead of being told",
        "records/call_store.py",
        "AND result = '' AND call_id",
        "AND waits_for IS NOT NULL AND call_id",
        f"{_TURNS} -k crash",
    ),
    Mutant(
        "an agent may be given a server of another account",
        "surfaces/api/mcp_servers.py",
        "if name not in usable:",
        "if not name:",
        _API,
    ),
)
