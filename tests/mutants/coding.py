"""Mutants of coding agents: who may use them, what is approved, what is bounded, and turns that were interrupted."""

from tests.mutants.model import Mutant

_TURNS, _PERMISSIONS = "tests/gateway/acp/test_message.py", "tests/gateway/acp/test_acts.py"
_ENDS, _SESSIONS = "tests/gateway/acp/test_faults.py", "tests/gateway/acp/test_session.py"
CODING = (
    Mutant(
        "every account may use every coding agent",
        "gateway/acp/gateway.py",
        "if not self._settings.serves(step.account):",
        "if not self._settings.accounts:",
        f"{_SESSIONS} -k account",
    ),
    Mutant(
        "an agent is given a coding agent of another account",
        "surfaces/api/agents.py",
        "known = call.services.gateways_of(access)",
        "known = call.services.connections",
        "tests/surfaces/api/test_agents.py -k open_to_another_account",
    ),
    Mutant(
        "health names the coding agents of another account",
        "surfaces/api/health.py",
        "if one.name not in hidden",
        "if one.name",
        "tests/surfaces/api/test_agents.py -k open_to_another_account",
    ),
    Mutant(
        "an agent is allowed what a person refused",
        "gateway/acp/session.py",
        '("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")',
        '("allow_once", "allow_always")',
        f"{_PERMISSIONS} -k refuses",
    ),
    Mutant(
        "an agent is allowed for ever what was allowed once",
        "gateway/acp/session.py",
        '("allow_once", "allow_always") if is_allowed',
        '("allow_always", "allow_once") if is_allowed',
        f"{_PERMISSIONS} -k waits_for_a_person",
    ),
    Mutant(
        "a question stays open after its turn was given up for another",
        "delivery/approvals.py",
        "if asked_first and _asks_permission(",
        "if False and _asks_permission(",
        f"{_PERMISSIONS} -k ends_its_run",
    ),
    Mutant(
        "what was said before a question ends it",
        "delivery/approvals.py",
        " and other.updated_at <= run.created_at",
        "",
        f"{_PERMISSIONS} -k leaves_it_open",
    ),
    Mutant(
        "a person is asked about what the rules deny",
        "delivery/step.py",
        "must_be_asked(snapshot.agent, call) and (name not in ACT_KINDS or name in names_in(snapshot.toolset))",
        "must_be_asked(snapshot.agent, call)",
        f"{_PERMISSIONS} -k deny",
    ),
    Mutant(
        "files are written in plan mode",
        "gateway/acp/session.py",
        "if name not in self.allowed:",
        "if not self.allowed:",
        f"{_PERMISSIONS} -k plan_mode",
    ),
    Mutant(
        "links lead out of the workspace",
        "workspaces/texts.py",
        "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDONLY | os.O_NONBLOCK",
        f"{_SESSIONS} -k workspace_only",
    ),
    Mutant(
        "names with two dots lead out of the workspace",
        "workspaces/texts.py",
        'if parts and ".." not in parts',
        "if parts",
        f"{_SESSIONS} -k workspace_only",
    ),
    Mutant(
        "acts of the agent are made again by us",
        "runs/answers.py",
        "[entry for entry in _without_result(own) if not is_act(entry)]",
        "_without_result(own)",
        "tests/gateway/acp/test_kills.py",
    ),
    Mutant(
        "an interrupted agent is told the message as if for the first time",
        "gateway/acp/message.py",
        "is_interrupted=step.lost_at is not None,",
        "is_interrupted=False,",
        f"{_ENDS} -k dies_in_its_turn",
    ),
    Mutant(
        "an agent does not get its session back",
        "delivery/gateway_history.py",
        "remote_id=remote_id_of(newest)",
        'remote_id=""',
        f"{_ENDS} -k nothing_to_do",
    ),
    Mutant(
        "an agent that floods is asked again",
        "gateway/acp/gateway.py",
        "retryable=not self._session.is_bad",
        "retryable=True",
        f"{_ENDS} -k floods",
    ),
    Mutant(
        "an agent that does not stop goes on",
        "gateway/acp/session.py",
        'self.stop("It did not stop when its turn was cancelled.")',
        "pass",
        f"{_ENDS} -k does_not_stop",
    ),
)
