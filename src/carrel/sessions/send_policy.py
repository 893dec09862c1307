"""The send policy: whether a message may be sent to a lane, by channel, chat type and key, never by session id."""

from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.kernel.settings import SendPolicySettings, SendRule
from carrel.sessions.model import stored_channel


def is_send_allowed(settings: SendPolicySettings, key: SessionKey, channel: str, override: str | None) -> bool:
    """Return whether sending is allowed: by the lane's own setting, else a deny, else an allow, else the default."""
    if override is not None:
        return override == "allow"
    matching = [rule.action for rule in settings.rules if _matches(rule, key, channel)]
    if "deny" in matching:
        return False
    return "allow" in matching or settings.default == "allow"


def require_sending(settings: SendPolicySettings, key: SessionKey, channel: str, override: str | None) -> None:
    """Refuse what the policy denies, naming the setting that denies it."""
    if not is_send_allowed(settings, key, channel, override):
        rule = f"this session's own setting (sendPolicy {override})" if override else "sessions.send_policy"
        raise Refusal(Code.SEND_DENIED, f"Sending to {key} is denied by {rule}.")


def channel_of(access: Access, surface: str, named: str | None) -> str:
    """Return the channel of a message: its surface's; only an owner, who makes the rules, may name another."""
    return named if named and access.kind == "owner" else surface


def _matches(rule: SendRule, key: SessionKey, channel: str) -> bool:
    match = rule.match
    kind = "direct" if match.chat_type == "dm" else match.chat_type
    return (
        (not match.channel or stored_channel(match.channel) == (key.channel or channel))
        and (not kind or kind == key.chat_type)
        and (not match.key_prefix or str(key).startswith(match.key_prefix) or key.rest.startswith(match.key_prefix))
    )
