"""Settings come from file and environment, and every mistake is reported before the server starts."""

import json
from pathlib import Path

import msgspec
import pytest

from carrel.kernel.settings import GatewaySettings, Settings
from carrel.main.settings import LoadedSettings, SettingsFault, load
from tests.requirements.mark import requirement


def load_file(text: str, **env: str) -> LoadedSettings:
    Path("carrel.toml").write_text(text, encoding="utf-8")
    return load(None, env, {})


def problems_of(text: str = "", **env: str) -> list[str]:
    with pytest.raises(SettingsFault) as caught:
        load_file(text, **env)
    return caught.value.problems


def value_of(loaded: LoadedSettings, dotted: str) -> object:
    value: object = loaded.settings
    for word in dotted.split("."):
        value = value[word] if isinstance(value, dict) else getattr(value, word)
    return value


def row_of(loaded: LoadedSettings, name: str) -> dict[str, object]:
    (row,) = [row for row in loaded.rows if row.name == name]
    return msgspec.structs.asdict(row)


def test_without_file_and_environment_every_setting_has_its_default(in_an_empty_directory: Path) -> None:
    loaded = load(None, {}, {})
    assert loaded.notices == []
    assert {row.source for row in loaded.rows} == {"default"}
    assert loaded.settings.server == Settings().server
    assert loaded.settings.storage.data_dir == in_an_empty_directory / "home" / ".carrel"
    assert loaded.settings.storage.url == f"sqlite:///{in_an_empty_directory}/home/.carrel/carrel.db"


DEFAULTS = {
    "server.host": "127.0.0.1",
    "server.port": 8787,
    "server.public_url": "",
    "server.drain_seconds": 30,
    "storage.durability": "full",
    "storage.data_dir": "~/.carrel",
    "auth.mode": "required",
    "delivery.instructions": "v2",
    "delivery.input_chars_max": 12000,
    "delivery.history_chars_max": 120000,
    "delivery.tool_rounds_max": 16,
    "delivery.no_reply_attempts": 3,
    "sessions.task_scoped": True,
    "sessions.scope": "per-conversation",
    "sessions.send_policy.rules": [],
    "sessions.send_policy.default": "allow",
    "sessions.closed_retention_days": 90,
    "sessions.base_entries_max": 2000,
    "sessions.agent_to_agent.max_ping_pong_turns": 5,
    "sessions.reply_back_expiry_minutes": 10,
    "sessions.thread_bindings.enabled": True,
    "runs.concurrency": 64,
    "runs.lease_seconds": 60,
    "runs.attempts_max": 5,
    "runs.timeout_minutes": 30,
    "runs.retention_days": 30,
    "runs.waiting_days": 7,
    "runs.unreachable_hours": 24,
    "runs.lane_queue_max": 9999,
    "responses.tool_output_wait_minutes": 60,
    "a2a.enabled": True,
    "a2a.public_card": True,
    "a2a.blocking_wait_seconds": 300,
    "a2a.streaming": True,
    "a2a.extended_card": True,
    "a2a.required_extensions": [],
    "a2a.grpc_port": 0,
    "a2a.push.enabled": True,
    "a2a.push.allow_private_addresses": False,
    "a2a.push.attempts_max": 10,
    "a2a.tasks.ttl_days": 7,
    "a2a.tasks.timeout_minutes": 30,
    "a2a.opt.enabled": True,
    "a2a.opt.max_plans_per_objective": 10,
    "a2a.opt.max_tasks_per_plan": 50,
    "tools.sessions.visibility": "tree",
    "tools.agent_to_agent.enabled": False,
    "tools.agent_to_agent.allow": [],
    "tools.subagents.tools.allow": [],
    "tools.subagents.tools.deny": [],
    "tools.sessions_spawn.attachments.enabled": True,
    "tools.sessions_spawn.attachments.max_files": 50,
    "tools.sessions_spawn.attachments.max_file_bytes": 1048576,
    "tools.sessions_spawn.attachments.max_total_bytes": 5242880,
    "tools.sessions_spawn.attachments.retain_on_session_keep": False,
    "tools.sessions_spawn.attachments.dir": ".openclaw/attachments",
    "agents.workspaces_dir": "",
    "agents.defaults.subagents.run_timeout_seconds": 0,
    "agents.defaults.subagents.archive_after_minutes": 60,
    "agents.defaults.concurrency": 0,
    "agents.defaults.subagents.max_children": 5,
    "agents.defaults.sandbox.session_tools_visibility": "spawned",
    "memory.recall_items_max": 12,
    "memory.recall_chars_max": 1200,
    "memory.extraction": "rules",
    "auto.tick_seconds": 60,
    "auto.resume_on_restart": False,
    "auto.max_ticks": 200,
    "search.concurrency": 3,
    "search.concurrency_wait_ms": 250,
    "search.include_tool_call_logs": False,
    "search.embedding": "static",
    "search.endpoint.base_url": "",
    "search.endpoint.api_key": "",
    "search.endpoint.model": "",
    "search.source_topk": 200,
    "search.single_token_window_max": 360,
    "search.rerank_chunks_per_doc": 6,
    "search.query_cache_size": 256,
    "context.augment": True,
    "context.mode": "auto",
    "context.max_chars": 2200,
    "context.fetch_timeout_ms": 1200,
    "context.total_budget_ms": 3000,
    "context.recall": "own",
    "context.task_lane": "task",
    "context.topic_limit": 3,
    "context.task_limit": 3,
    "context.log_limit": 6,
    "classifier.mode": "auto",
    "classifier.interval_seconds": 10,
    "classifier.attempts_max": 3,
    "classifier.model_calls_per_hour": 240,
    "digests.interval_minutes": 15,
    "digests.per_cycle": 2,
    "digests.chars_max": 1800,
    "intake.ignore_session_prefixes": ["internal:clawboard-classifier:"],
    "followups.ladder_minutes": [1, 3, 10, 15, 30, 60],
    "followups.progress_after_minutes": 5,
    "hooks.enabled": False,
    "hooks.allow_request_session_key": False,
    "hooks.allowed_session_key_prefixes": ["hook:"],
    "agent_http.session_key_auth": "off",
    "channels.telegram.bot_token": "",
    "channels.telegram.webhook_secret": "",
    "channels.telegram.agent_id": "",
    "channels.telegram.api_base_url": "https://api.telegram.org",
    "channels.telegram.owner_ids": [],
    "channels.telegram.open": False,
    "events.retention_days": 7,
    "events.replay_max": 5000,
    "audit.enabled": False,
    "audit.max_bytes": 10485760,
    "audit.keep": 5,
    "log.level": "info",
    "log.format": "json",
}


def test_the_table_names_every_setting_with_its_published_default() -> None:
    rows = {row.name: row.default for row in load(None, {}, {}).rows}
    url = rows.pop("storage.url")
    assert str(url).endswith("/.carrel/carrel.db")
    assert rows == DEFAULTS
    assert [type(value) for value in rows.values()] == [type(value) for value in DEFAULTS.values()]


@requirement("P.settings")
@pytest.mark.parametrize(
    ("toml", "env", "name", "expected", "source"),
    [
        ("[server]\nport = 9000", {}, "server.port", 9000, "file"),
        ("[server]\nport = 9000", {"CARREL_SERVER__PORT": "9001"}, "server.port", 9001, "env"),
        ("", {"CARREL_A2A__TASKS__TTL_DAYS": "0.5"}, "a2a.tasks.ttl_days", 0.5, "env"),
        ("[a2a.tasks]\nttlDays = 3\ntimeoutMinutes = 1.5", {}, "a2a.tasks.timeout_minutes", 1.5, "file"),
        ("[session]\nscope = 'global'", {}, "sessions.scope", "global", "file"),
        ("[session.sendPolicy]\ndefault = 'deny'", {}, "sessions.send_policy.default", "deny", "file"),
        ("", {"CARREL_SESSION__TASK_SCOPED": "off"}, "sessions.task_scoped", False, "env"),
        ("", {"CARREL_SESSIONS__TASK_SCOPED": "FALSE"}, "sessions.task_scoped", False, "env"),
        ("[runs]\nwaiting_days = 0.001", {}, "runs.waiting_days", 0.001, "file"),
        ("runs.lane_queue_max = 2", {}, "runs.lane_queue_max", 2, "file"),
        ("", {"CARREL_SERVER__PORT": "0"}, "server.port", 0, "env"),
        ("[tools.sessions]\nvisibility = 'all'", {}, "tools.sessions.visibility", "all", "file"),
    ],
)
def test_environment_comes_before_the_file_and_the_file_before_the_default(
    toml: str, env: dict[str, str], name: str, expected: object, source: str
) -> None:
    loaded = load_file(toml, **env)
    assert value_of(loaded, name) == expected
    assert row_of(loaded, name)["source"] == source
    assert row_of(loaded, name)["value"] == expected


def test_the_command_line_comes_before_everything() -> None:
    Path("carrel.toml").write_text("server.port = 1", encoding="utf-8")
    loaded = load(None, {"CARREL_SERVER__PORT": "2"}, {"server.port": 3, "storage.data_dir": "elsewhere"})
    assert loaded.settings.server.port == 3
    assert loaded.settings.storage.data_dir == Path.cwd() / "elsewhere"
    assert loaded.settings.storage.url == f"sqlite:///{Path.cwd()}/elsewhere/carrel.db"


def test_the_home_directory_may_be_written_with_a_tilde(in_an_empty_directory: Path) -> None:
    loaded = load_file("[storage]\ndata_dir = '~/folder'\nurl = 'sqlite:///~/folder/other.db'")
    assert loaded.settings.storage.data_dir == in_an_empty_directory / "home" / "folder"
    assert loaded.settings.storage.url == f"sqlite:///{in_an_empty_directory}/home/folder/other.db"


RULES = [{"match": {"channel": "telegram", "chatType": "group"}, "action": "deny"}]


def test_lists_and_tables_come_from_the_environment_as_json() -> None:
    loaded = load(None, {"CARREL_SESSIONS__SEND_POLICY__RULES": json.dumps(RULES)}, {})
    (rule,) = loaded.settings.sessions.send_policy.rules
    assert (rule.match.channel, rule.match.chat_type, rule.match.key_prefix, rule.action) == (
        "telegram",
        "group",
        "",
        "deny",
    )
    shown = {"action": "deny", "match": {"channel": "telegram", "chatType": "group", "keyPrefix": ""}}
    assert row_of(loaded, "sessions.send_policy.rules")["value"] == [shown]


def test_send_rules_may_stand_in_the_file_as_tables() -> None:
    loaded = load_file('[[session.sendPolicy.rules]]\naction = "deny"\nmatch = { keyPrefix = "agent:x:" }')
    assert loaded.settings.sessions.send_policy.rules[0].match.key_prefix == "agent:x:"


def test_gateways_are_named_by_people_in_file_and_environment() -> None:
    loaded = load_file(
        "[gateway.default]\nkind = 'responses'\nbaseUrl = 'http://127.0.0.1:9'\nmodels = ['a', 'b']\n[gateway.quiet]\n",
        CARREL_GATEWAY__FAST__BASE_URL="https://models.example",
        CARREL_GATEWAY__DEFAULT__API_KEY="very-secret",
        CARREL_GATEWAY__DEFAULT__STREAM="no",
    )
    default = loaded.settings.gateway["default"]
    assert (default.kind, default.base_url, default.models) == ("responses", "http://127.0.0.1:9", ("a", "b"))
    assert (default.api_key, default.stream, default.timeout_seconds) == ("very-secret", False, 300)
    assert loaded.settings.gateway["fast"].base_url == "https://models.example"
    assert loaded.settings.gateway["quiet"] == GatewaySettings()


def test_secrets_are_shown_only_as_set() -> None:
    loaded = load_file(
        "[storage]\nurl = 'postgresql://carrel:hunter2@db.example/carrel?password=hunter2'",
        CARREL_GATEWAY__DEFAULT__API_KEY="hunter2",
        CARREL_GATEWAY__OTHER__MODEL="m",
    )
    assert row_of(loaded, "gateway.default.api_key")["value"] == "set"
    assert row_of(loaded, "gateway.other.api_key")["value"] == ""
    assert row_of(loaded, "storage.url")["value"] == "postgresql://carrel:set@db.example/carrel?password=set"
    assert "hunter2" not in repr(loaded.rows)
    assert loaded.settings.storage.url.count("hunter2") == 2


@requirement("P.settings")
@pytest.mark.parametrize(
    ("toml", "env", "named", "meant"),
    [
        ("[server]\nprot = 1", {}, "server.prot", "server.port"),
        ("[servr]\nport = 1", {}, "servr.port", "server.port"),
        ("port = 1", {}, "port", "server.port"),
        ("[runs]\nleaseSecs = 1", {}, "runs.leaseSecs", "runs.lease_seconds"),
        ("[gateway.default]\nurl = 'x'", {}, "gateway.default.url", "gateway.default.base_url"),
        ("[gateway]\nmodel = 'x'", {}, "gateway.model", "gateway.default.model"),
        ("[a2a.tasks.deep]\nttl_days = 1", {}, "a2a.tasks.deep", "a2a.tasks"),
        ("", {"CARREL_SERVER__PROT": "1"}, "CARREL_SERVER__PROT", "CARREL_SERVER__PORT"),
        ("", {"CARREL_PORT": "1"}, "CARREL_PORT", "CARREL_SERVER__PORT"),
        ("", {"CARREL_GATEWAY__DEFAULT__KEY": "1"}, "CARREL_GATEWAY__DEFAULT__KEY", "CARREL_GATEWAY__DEFAULT__"),
        ("", {"CARREL_": "1"}, "CARREL_", "CARREL_"),
    ],
)
def test_an_unknown_name_stops_the_start_with_its_path_and_the_nearest_known_one(
    toml: str, env: dict[str, str], named: str, meant: str
) -> None:
    (problem,) = problems_of(toml, **env)
    assert problem.startswith(named)
    assert "did you mean " + meant in problem


def test_variables_of_the_client_are_no_settings() -> None:
    load(None, {"CARREL_URL": "x", "CARREL_TOKEN": "y", "CARREL_REQUIRE_ALL": "1", "PATH": "/"}, {})


@pytest.mark.parametrize(
    ("toml", "env", "part"),
    [
        ("server.port = 'abc'", {}, 'server.port in carrel.toml: must be a whole number from 0 to 65,535, not "abc"'),
        ("server.port = true", {}, "a whole number"),
        ("server.port = 70000", {}, "not 70000"),
        ("server.port = 1.5", {}, "not 1.5"),
        ("server.drain_seconds = 0", {}, "from 1 to"),
        ("runs.waiting_days = -1", {}, "a number from 0"),
        ("runs.waiting_days = inf", {}, "a number from 0"),
        ("runs.waiting_days = nan", {}, "a number from 0"),
        ("runs.waiting_days = 2026-01-01", {}, "a number from 0"),
        ("auth.mode = 'open'", {}, 'one of required, loopback, not "open"'),
        ("sessions.task_scoped = 1", {}, "true or false, not 1"),
        ("server = 5", {}, "is a section"),
        ("gateway = 5", {}, "is a section"),
        ("server.port.deep = 5", {}, "server.port in carrel.toml: must be a whole number"),
        ("server.public_url = 'example.org'", {}, "starts with http:// or https://"),
        ("storage.url = 'mysql://x'", {}, "sqlite:///<file> or postgresql://"),
        ("[gateway.default]\nkind = 'responses'", {}, "gateway.default.base_url: is required"),
        (
            "[gateway.default]\nkind = 'chat'\nbase_url = 'http://a'\nagents = ['writer=main']",
            {},
            "gateway.default.agents: only a gateway of kind openclaw uses it.",
        ),
        (
            "[gateway.default]\nkind = 'openclaw'\nbase_url = 'http://a'\nagents = ['writer']",
            {},
            'gateway.default.agents: "writer" must be one of your agents and one of OpenClaw, as "writer=main".',
        ),
        (
            "[gateway.default]\nkind = 'a2a'\nbase_url = 'http://a'\nrun_tokens = true",
            {},
            "only a gateway of kind responses",
        ),
        ("[gateway.default]\nkind = 'chat'", {}, "gateway.default.base_url: is required"),
        (
            "[gateway.default]\nkind = 'acp'",
            {},
            "gateway.default.command: is required when gateway.default.kind is acp.",
        ),
        (
            "[gateway.default]\nkind = 'chat'\nbase_url = 'http://a'\ncommand = 'sh'",
            {},
            "gateway.default.command: only a gateway of kind acp uses it.",
        ),
        (
            "[gateway.default]\nkind = 'acp'\ncommand = 'a'\nbase_url = 'http://a'",
            {},
            "gateway.default.base_url: a gateway of kind acp starts its agent and does not use it.",
        ),
        (
            "[gateway.default]\nkind = 'acp'\ncommand = 'a'\nenv = ['KEY=secret']",
            {},
            "gateway.default.env: must have names of environment variables, and no values.",
        ),
        ("[gateway.default]\nkind = 'anthropic'", {}, "gateway.default.base_url: is required"),
        (
            "[gateway.default]\nkind = 'responses'\nbase_url = 'http://a'\nmax_output_tokens = 5",
            {},
            "only a gateway of kind chat or anthropic",
        ),
        (
            "[gateway.default]\nkind = 'chat'\nbase_url = 'http://a'\napi_key_env = 'K'\napi_key_file = 'k'",
            {},
            "gateway.default.api_key_file: gateway.default.api_key_env is set as well; keep one",
        ),
        (
            "[gateway.default]\nkind = 'chat'\nbase_url = 'http://a'\napi_key_env = 'K'",
            {"CARREL_GATEWAY__DEFAULT__API_KEY": "very-secret"},
            "gateway.default.api_key_env: gateway.default.api_key is set as well; keep one",
        ),
        (
            "auth.mode = 'loopback'\nserver.public_url = 'https://carrel.example'",
            {},
            "auth.mode: must not be loopback while server.public_url",
        ),
        (
            "agent_http.session_key_auth = 'loopback'\nserver.public_url = 'http://192.0.2.1:8787'",
            {},
            "agent_http.session_key_auth: must not be loopback",
        ),
        ("[gateway.Big]\nmodel = 'x'", {}, "lower-case letters"),
        ("[a2a.tasks]\nttlDays = 1\nttl_days = 2", {}, "is set twice"),
        (
            "",
            {"CARREL_SERVER__PORT": "http"},
            'CARREL_SERVER__PORT: must be a whole number from 0 to 65,535, not "http"',
        ),
        ("", {"CARREL_SESSIONS__TASK_SCOPED": "perhaps"}, "true or false"),
        ("", {"CARREL_SESSIONS__SEND_POLICY__RULES": "[}"}, 'a list of {"match"'),
        ("", {"CARREL_SESSIONS__SEND_POLICY__RULES": '[{"action": "maybe"}]'}, "a list of"),
        ("", {"CARREL_SESSIONS__SEND_POLICY__RULES": '[{"action": "deny", "matches": {}}]'}, "a list of"),
        ("", {"OPENCLAW_TASK_SCOPED_SESSIONS": "perhaps"}, "OPENCLAW_TASK_SCOPED_SESSIONS: must be true or false"),
        ("[server", {}, "carrel.toml: is not TOML"),
    ],
)
def test_a_wrong_value_gives_one_sentence_that_names_it_and_what_it_takes(
    toml: str, env: dict[str, str], part: str
) -> None:
    (problem,) = problems_of(toml, **env)
    assert part in problem
    assert problem.endswith(".")


@pytest.mark.parametrize("address", ["http://localhost:9000", "http://127.0.0.1", "http://[::1]:8787"])
def test_a_server_for_this_machine_alone_may_trust_it(address: str) -> None:
    settings = load_file(f"auth.mode = 'loopback'\nserver.public_url = '{address}'").settings
    assert (settings.auth.mode, settings.server.public_url) == ("loopback", address)


def test_all_mistakes_are_reported_at_once() -> None:
    problems = problems_of(
        "[server]\nport = 'x'\nhots = 'y'\n[runs]\nattempts_max = 0", CARREL_LOG__LEVEL="loud", CARREL_NOTHING="1"
    )
    assert len(problems) == 5


@pytest.mark.parametrize("password", ["hunter2", "hunt@er2", "hunt/er2", "hunt:er2"])
def test_the_password_in_a_gateways_address_is_not_shown(password: str) -> None:
    loaded = load_file(f"[gateway.default]\nkind = 'responses'\nbase_url = 'https://me:{password}@models.example/v1'")
    assert row_of(loaded, "gateway.default.base_url")["value"] == "https://me:set@models.example/v1"
    assert password in loaded.settings.gateway["default"].base_url


def test_a_wrong_secret_or_address_is_not_repeated_in_the_error() -> None:
    problems = problems_of("[storage]\nurl = 'mysql://carrel:hunter2@x'\n[gateway.default]\napi_key = 2222")
    assert len(problems) == 2
    assert "hunter2" not in str(problems)
    assert "2222" not in str(problems)


def test_a_config_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsFault, match="file not found"):
        load(tmp_path / "none.toml", {}, {})
    with pytest.raises(SettingsFault, match="cannot be read"):
        load(tmp_path, {}, {})


@requirement("P.settings")
@pytest.mark.parametrize(
    ("variable", "text", "name", "expected"),
    [
        ("OPENCLAW_DELIVERY_INSTRUCTIONS_V2", "true", "delivery.instructions", "v2"),
        ("OPENCLAW_DELIVERY_INSTRUCTIONS_V2", "false", "delivery.instructions", "inline"),
        ("OPENCLAW_TASK_SCOPED_SESSIONS", "0", "sessions.task_scoped", False),
        ("CLAWBOARD_LOGGER_CONTEXT_MODE", "patient", "context.mode", "patient"),
        ("CLAWBOARD_LOGGER_CONTEXT_MAX_CHARS", "1500", "context.max_chars", 1500),
        ("CLAWBOARD_LOGGER_CONTEXT_FETCH_TIMEOUT_MS", "900", "context.fetch_timeout_ms", 900),
        (
            "CLAWBOARD_LOGGER_IGNORE_SESSION_PREFIXES",
            "internal:a:, b:",
            "intake.ignore_session_prefixes",
            ("internal:a:", "b:"),
        ),
        ("CLAWBOARD_SEARCH_CONCURRENCY_LIMIT", "5", "search.concurrency", 5),
        ("CLAWBOARD_SEARCH_CONCURRENCY_WAIT_SECONDS", "0.5", "search.concurrency_wait_ms", 500),
        ("CLAWBOARD_SEARCH_INCLUDE_TOOL_CALL_LOGS", "1", "search.include_tool_call_logs", True),
        ("CLAWBOARD_SEARCH_SINGLE_TOKEN_WINDOW_MAX_LOGS", "400", "search.single_token_window_max", 400),
        ("CLAWBOARD_SEARCH_SOURCE_TOPK_MAX", "300", "search.source_topk", 300),
        ("CLAWBOARD_SEARCH_EMBED_QUERY_CACHE_SIZE", "32", "search.query_cache_size", 32),
        ("CLAWBOARD_RERANK_CHUNKS_PER_DOC", "4", "search.rerank_chunks_per_doc", 4),
    ],
)
def test_foreign_spellings_are_read_and_named_in_a_notice(
    variable: str, text: str, name: str, expected: object
) -> None:
    loaded = load(None, {variable: text}, {})
    assert value_of(loaded, name) == expected
    assert row_of(loaded, name)["source"] == "env"
    (notice,) = loaded.notices
    assert variable in notice
    assert name in notice


@pytest.mark.parametrize("variable", ["CLAWBOARD_SEARCH_SOURCE_TOPK_MIN", "CLAWBOARD_SEARCH_SOURCE_TOPK_MULTIPLIER"])
def test_a_foreign_spelling_without_a_counterpart_is_named_and_not_used(variable: str) -> None:
    loaded = load(None, {variable: "20"}, {})
    assert loaded.settings == load(None, {}, {}).settings
    assert f"{variable} is not used" in loaded.notices[0]


@pytest.mark.parametrize(
    ("variable", "text", "form"),
    [
        ("CLAWBOARD_SEARCH_CONCURRENCY_WAIT_SECONDS", "soon", "a number of seconds"),
        ("CLAWBOARD_SEARCH_CONCURRENCY_WAIT_SECONDS", "inf", "a number of seconds"),
        ("CLAWBOARD_SEARCH_CONCURRENCY_LIMIT", "many", "a whole number from 1 to 64"),
        ("OPENCLAW_DELIVERY_INSTRUCTIONS_V2", "perhaps", "true or false"),
    ],
)
def test_a_foreign_spelling_with_a_wrong_value_is_refused_by_its_name(variable: str, text: str, form: str) -> None:
    with pytest.raises(SettingsFault, match=f"{variable}: must be {form}"):
        load(None, {variable: text}, {})


def test_our_own_spelling_comes_before_a_foreign_one() -> None:
    loaded = load(None, {"OPENCLAW_DELIVERY_INSTRUCTIONS_V2": "true", "CARREL_DELIVERY__INSTRUCTIONS": "inline"}, {})
    assert loaded.settings.delivery.instructions == "inline"
    assert "is not used" in loaded.notices[0]
    loaded = load(None, {"OPENCLAW_TASK_SCOPED_SESSIONS": "true", "CARREL_SESSION__TASK_SCOPED": "off"}, {})
    assert loaded.settings.sessions.task_scoped is False


def test_a_foreign_spelling_comes_before_the_file() -> None:
    loaded = load_file("[sessions]\ntask_scoped = true", OPENCLAW_TASK_SCOPED_SESSIONS="false")
    assert loaded.settings.sessions.task_scoped is False


@requirement("S2.pingpong.max")
@pytest.mark.parametrize(("given", "used"), [("9", 5), ("5", 5), ("0", 0), ("-1", 0)])
def test_rounds_beyond_the_limits_are_clamped_with_a_notice(given: str, used: int) -> None:
    name = "sessions.agent_to_agent.max_ping_pong_turns"
    in_file = load_file(f"[session.agentToAgent]\nmaxPingPongTurns = {given}")
    in_environment = load(None, {"CARREL_SESSIONS__AGENT_TO_AGENT__MAX_PING_PONG_TURNS": given}, {})
    for loaded in (in_file, in_environment):
        assert value_of(loaded, name) == used
        assert loaded.settings.sessions.agent_to_agent.max_ping_pong_turns == used
        assert [f"using {used}." in notice for notice in loaded.notices] == ([] if str(used) == given else [True])
    (problem,) = problems_of("[session.agentToAgent]\nmaxPingPongTurns = 'many'")
    assert "must be a whole number from 0 to 5" in problem


@requirement("S2.visibility.default")
def test_an_unknown_visibility_counts_as_tree_with_a_notice() -> None:
    loaded = load_file("[tools.sessions]\nvisibility = 'everyone'")
    assert loaded.settings.tools.sessions.visibility == "tree"
    assert "everyone" in loaded.notices[0]
    assert row_of(loaded, "tools.sessions.visibility") == {
        "name": "tools.sessions.visibility",
        "value": "tree",
        "default": "tree",
        "source": "default",
    }
