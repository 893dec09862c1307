"""Session references: every form in which a client may name a session, parsed here and nowhere else. Pure."""

import re

from msgspec import Struct

from carrel.kernel import Code, Grammar, Refusal, SessionKey, invalid, is_conversation_key
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX

_SUFFIX = r":v([1-9][0-9]{0,8})(?:@([a-z0-9-]{1,64}))?"
_GENERATION = re.compile(f"(.+){_SUFFIX}", re.DOTALL)
_OLD_TASK = re.compile(r"task:([^:]+):agent:([^:]+):([^:]+):v([1-9][0-9]{0,8})")
_SESSION_ID = re.compile(r"ses_[0-9a-z]{26}")
_ACCOUNT_ID = re.compile(r"acc_[0-9a-z]{26}")
_ID = Grammar.LANE_ID
_RESERVED = ("global", "unknown")
# The grammar of all forms together, for descriptions of what is accepted: names in their usual spelling, and possible
# ids. `parse_reference` reads other spellings too.
SESSION_REFERENCE = (
    rf"(?!(?:{'|'.join(_RESERVED)})$)(?:{Grammar.CONVERSATION_KEY}|(?:[Aa]gent:[^:\u0000]+:)?(?:{Grammar.SESSION_RESTS})(?:{_SUFFIX})?"
    rf"|agent:[^:\u0000]+:{_ACCOUNT_ID.pattern}|clawboard:topic:{_ID}|clawboard:task:[^:\u0000]+:{_ID}"
    rf"|task:{_ID}:agent:[^:\u0000]+:[^:\u0000]+:v[1-9][0-9]{{0,8}})"
)


class SessionReference(Struct, frozen=True, kw_only=True):
    """The parts of a reference. Exactly one of `rest`, `session_id`, `bare` and `current` is set."""

    slug: str | None = None
    rest: str | None = None
    session_id: str | None = None
    bare: str | None = None
    current: bool = False
    generation: int | None = None
    account: str | None = None


def parse_reference(text: str) -> SessionReference:
    """Parse a reference in any of its forms; raise Refusal for anything else."""
    if not text or len(text) > SESSION_REFERENCE_CHARS_MAX:
        raise invalid("sessionKey", f"A session reference must have 1 to {SESSION_REFERENCE_CHARS_MAX} characters.")
    if text in _RESERVED:
        raise _reserved(text)
    if text == "current":
        return SessionReference(current=True)
    if _SESSION_ID.fullmatch(text):
        return SessionReference(session_id=text)
    old_task = _OLD_TASK.fullmatch(text)
    if old_task:
        task, slug, account, generation = old_task.groups()
        return SessionReference(slug=slug.lower(), rest=f"task:{task}", account=account, generation=int(generation))
    parsed = _canonical(text) or _with_generation(text)
    if parsed is not None:
        return parsed
    if is_conversation_key(text):
        return SessionReference(bare=text)
    raise invalid("sessionKey", f"'{text[:80]}' is not a session reference; a full key reads agent:<agent>:<rest>.")


def _with_generation(text: str) -> SessionReference | None:
    suffixed = _GENERATION.fullmatch(text)
    if suffixed is None:
        return None
    found = _canonical(suffixed[1])
    if found is None:
        return None
    account = suffixed[3] or found.account
    return SessionReference(slug=found.slug, rest=found.rest, generation=int(suffixed[2]), account=account)


def _canonical(text: str) -> SessionReference | None:
    head, _, tail = text.partition(":")
    if head.lower() == "agent":
        slug, _, rest = tail.partition(":")
        if _ACCOUNT_ID.fullmatch(rest):
            return SessionReference(slug=slug.lower(), rest="main", account=rest)
        rest = _rest(rest)
        if rest in _RESERVED:
            raise _reserved(rest)
        return SessionReference(slug=slug.lower(), rest=rest) if SessionKey.kind_of(rest) else None
    rest = _rest(text)
    return SessionReference(rest=rest) if SessionKey.kind_of(rest) else None


def _rest(rest: str) -> str:
    """The canonical `rest`: board names of lanes translated, and lower case up to the id."""
    head, _, tail = rest.partition(":")
    head = head.lower() if not head.startswith("node-") else head
    if head == "clawboard":
        kind, _, ids = tail.partition(":")
        return f"{kind}:{ids.rpartition(':')[2]}" if kind in ("task", "topic") else rest
    return f"{head}:{tail}" if tail else head


def _reserved(name: str) -> Refusal:
    return Refusal(Code.RESERVED_SESSION_KEY, f"'{name}' is reserved and cannot name a session.", field="sessionKey")
