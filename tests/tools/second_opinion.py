"""A second opinion on who may see which lane and may send to it: the rule once more, written from what is promised.

It knows a world and the settings, and looks neither at the store nor at the code that it is compared with.
"""

import re
from fnmatch import fnmatchcase

from msgspec import Struct

from carrel.kernel.settings import SendPolicySettings, SendRule, Settings
from tests.tools.worlds import ELSEWHERE, World, WorldLane

GENERATION = re.compile(r"(?P<key>.+):v(?P<number>\d+)(@(?P<account>.+))?")
# What may follow the agent in a key.
RESTS = re.compile(r"main|node-.+|(task|cron|subagent|web|cli):[^:]+|(telegram|whatsapp):(direct|group|channel):.+")


class Verdict(Struct, frozen=True, kw_only=True):
    """The expected result of a send: its status, its target, the code of a refusal and words that name the rule."""

    status: str
    key: str = ""
    code: str = ""
    words: str = ""


class Nowhere(Exception):
    """A reference leads to no lane; carries the expected result."""

    def __init__(self, status: str, code: str) -> None:
        super().__init__(code)
        self.verdict = Verdict(status=status, code=code)


def hidden_by(world: World, settings: Settings, caller: WorldLane, target: WorldLane) -> str | None:
    """Return words that name the rule that hides a lane from a caller; None if the caller sees it."""
    if target.key == caller.key:
        return None
    mode, named = _mode(world, settings, caller)
    if mode == "self":
        return named
    if caller.key in _ancestors(world, target):
        return None
    if mode == "tree":
        return named
    if target.agent == caller.agent:
        return None
    if mode == "agent":
        return named
    rule = settings.tools.agent_to_agent
    if not rule.enabled:
        return "tools.agent_to_agent.enabled"
    both = (caller.agent, target.agent)
    allowed = all(any(fnmatchcase(one, pattern.lower()) for pattern in rule.allow) for one in both)
    return None if allowed or not rule.allow else "tools.agent_to_agent.allow"


def _mode(world: World, settings: Settings, caller: WorldLane) -> tuple[str, str]:
    """Return the visibility of a caller and words that name its source: the agent's own setting comes first."""
    profile = world.profiles[caller.agent]
    mode = profile.visibility or settings.tools.sessions.visibility
    boxed = caller.sandboxed or profile.sandbox == "on"
    clamp = settings.agents.defaults.sandbox.session_tools_visibility
    if boxed and clamp == "spawned" and mode in ("agent", "all"):
        return "tree", "agents.defaults.sandbox.session_tools_visibility"
    return mode, f"agent {caller.agent}'s visibility" if profile.visibility else "tools.sessions.visibility"


def _ancestors(world: World, target: WorldLane) -> set[str]:
    found: set[str] = set()
    above = target.parent
    while above is not None and above not in found:
        found.add(above)
        above = world.lanes[above].parent
    return found


def verdict_on(world: World, settings: Settings, caller: WorldLane, reference: str) -> Verdict:
    """Return the expected result of a send from a caller to a reference."""
    try:
        target = _meant(world, settings, caller, reference)
    except Nowhere as nowhere:
        return nowhere.verdict
    if target.key == caller.key:
        return Verdict(status="forbidden", code="self_send")
    hidden = hidden_by(world, settings, caller, target)
    if hidden is not None:
        return Verdict(status="forbidden", code="forbidden", words=hidden)
    if target.key not in world.lanes and not target.key.endswith(":main"):
        return Verdict(status="error", code="not_found")
    denied = _denied_by(settings.sessions.send_policy, target)
    if denied is not None:
        return Verdict(status="forbidden", code="send_denied", words=denied)
    return Verdict(status="accepted", key=target.key)


def _meant(world: World, settings: Settings, caller: WorldLane, reference: str) -> WorldLane:
    """Return the lane of a reference, whether or not it exists."""
    if reference in ("global", "unknown"):
        raise Nowhere("refused", "reserved_session_key")
    if reference == "current":
        return caller
    for lane in world.lanes.values():
        if reference in lane.sessions:
            return lane
    if reference.startswith("ses_"):
        raise Nowhere("error", "not_found")
    generation = GENERATION.fullmatch(reference)
    if generation is not None:
        key, number, account = generation["key"], int(generation["number"]), generation["account"]
        agent = key.split(":")[1]
        if account == ELSEWHERE or agent not in world.profiles:
            raise Nowhere("error", "not_found")
        lane = world.lanes.get(key) or WorldLane(key=key, agent=agent)
        # Which generations a hidden lane has stays unknown.
        if hidden_by(world, settings, caller, lane) is None and not 1 <= number <= len(lane.sessions):
            raise Nowhere("error", "not_found")
        return lane
    is_full = reference.startswith("agent:")
    agent, rest = reference.split(":", 2)[1:] if is_full else (caller.agent, reference)
    if RESTS.fullmatch(rest):
        if agent not in world.profiles:
            raise Nowhere("error", "not_found")
        key = f"agent:{agent}:{rest}"
        return world.lanes.get(key) or WorldLane(key=key, agent=agent)
    if is_full:
        raise Nowhere("refused", "invalid_params")
    return _chat(world, settings, caller, reference)


def _chat(world: World, settings: Settings, caller: WorldLane, name: str) -> WorldLane:
    """Return the chat of a name; hidden chats do not count."""
    chats = [lane for lane in world.lanes.values() if lane.key.endswith((f":web:{name}", f":cli:{name}"))]
    seen = [lane for lane in chats if hidden_by(world, settings, caller, lane) is None]
    if len(seen) > 1:
        raise Nowhere("error", "ambiguous_session")
    if not seen:
        raise Nowhere("error", "not_found")
    return seen[0]


def _denied_by(policy: SendPolicySettings, target: WorldLane) -> str | None:
    """Return words that name what denies sending to a lane: its own setting, a deny rule, or the default."""
    if target.send_policy is not None:
        return "sendPolicy deny" if target.send_policy == "deny" else None
    actions = [rule.action for rule in policy.rules if _applies(rule, target)]
    if "deny" not in actions and ("allow" in actions or policy.default == "allow"):
        return None
    return "sessions.send_policy"


def _applies(rule: SendRule, target: WorldLane) -> bool:
    rest = target.key.split(":", 2)[2]
    head, _, behind = rest.partition(":")
    channel = head if head in ("web", "cli", "telegram", "whatsapp") else target.channel
    kind = behind.partition(":")[0]
    chat_type = kind if kind in ("group", "channel") else "direct"
    # A list shows `web` as webchat, so a rule may say either.
    channels = (channel, "webchat") if channel == "web" else (channel,)
    return (
        rule.match.channel in ("", *channels)
        and rule.match.chat_type in ("", chat_type)
        and any(spelled.startswith(rule.match.key_prefix) for spelled in (target.key, rest))
    )
