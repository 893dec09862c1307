"""Every foreign spelling of a session, read in this one place and nowhere else.

Pure: text in, a Spelling out. Whether it names something of the caller's is for `routing` to find out.
"""

import re

from msgspec import Struct

from carrel.kernel import Code, Refusal, invalid, is_conversation_key, kind_of
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX

_GENERATION = re.compile(r"(.+):v([1-9][0-9]{0,8})(?:@([a-z0-9-]{1,64}))?")
_OLD_TASK = re.compile(r"task:([^:]+):agent:([^:]+):([^:]+):v([1-9][0-9]{0,8})")
_SESSION_ID = re.compile(r"ses_[0-9a-z]{26}")
_ACCOUNT_ID = re.compile(r"acc_[0-9a-z]{26}")


class Spelling(Struct, frozen=True, kw_only=True):
    """What a reference says. Exactly one of `rest`, `session_id`, `bare` and `current` is set."""

    slug: str | None = None
    rest: str | None = None
    session_id: str | None = None
    bare: str | None = None
    current: bool = False
    generation: int | None = None
    account: str | None = None


def read_spelling(text: str) -> Spelling:
    """What `text` says in whatever spelling; Refusal when it says nothing."""
    if not text or len(text) > SESSION_REFERENCE_CHARS_MAX:
        raise invalid("sessionKey", f"A session reference has 1 to {SESSION_REFERENCE_CHARS_MAX} characters.")
    if text in ("global", "unknown"):
        raise Refusal(
            Code.RESERVED_SESSION_KEY, f"'{text}' is a reserved name and no session can bear it.", field="sessionKey"
        )
    if text == "current":
        return Spelling(current=True)
    if _SESSION_ID.fullmatch(text):
        return Spelling(session_id=text)
    old_task = _OLD_TASK.fullmatch(text)
    if old_task:
        task, slug, account, generation = old_task.groups()
        return Spelling(slug=slug.lower(), rest=f"task:{task}", account=account, generation=int(generation))
    whole = _canonical(text) or _with_generation(text)
    if whole is not None:
        return whole
    if is_conversation_key(text):
        return Spelling(bare=text)
    raise invalid("sessionKey", f"'{text[:80]}' is no session reference; a full key reads agent:<agent>:<rest>.")


def _with_generation(text: str) -> Spelling | None:
    suffixed = _GENERATION.fullmatch(text)
    if suffixed is None:
        return None
    found = _canonical(suffixed[1])
    if found is None:
        return None
    return Spelling(slug=found.slug, rest=found.rest, generation=int(suffixed[2]), account=suffixed[3] or found.account)


def _canonical(text: str) -> Spelling | None:
    head, _, tail = text.partition(":")
    if head.lower() == "agent":
        slug, _, rest = tail.partition(":")
        if _ACCOUNT_ID.fullmatch(rest):
            return Spelling(slug=slug.lower(), rest="main", account=rest)
        rest = _rest(rest)
        if rest in ("global", "unknown"):
            raise Refusal(
                Code.RESERVED_SESSION_KEY,
                f"'{rest}' is a reserved name and no session can bear it.",
                field="sessionKey",
            )
        return Spelling(slug=slug.lower(), rest=rest) if kind_of(rest) else None
    rest = _rest(text)
    return Spelling(rest=rest) if kind_of(rest) else None


def _rest(rest: str) -> str:
    """`rest` canonically: the board's spelling of its lanes, and lower case up to the id."""
    head, _, tail = rest.partition(":")
    head = head.lower() if not head.startswith("node-") else head
    if head == "clawboard":
        kind, _, ids = tail.partition(":")
        return f"{kind}:{ids.rpartition(':')[2]}" if kind in ("task", "topic") else rest
    return f"{head}:{tail}" if tail else head
