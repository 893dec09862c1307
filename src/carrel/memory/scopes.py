"""Memory scopes: where a kept fact belongs, and the chain of scopes that a run reads, narrowest first.

Exactly four forms: `global`, `session:{channel}:{conversation}`, `goal:{channel}:{conversation}:{goalId}` and
`task:{taskId}`. Anything else is refused; it never becomes `global`.
"""

import re
from typing import Literal, Self

from msgspec import Struct

from carrel.kernel import Code, Grammar, Refusal, SessionKey

ScopeKind = Literal["task", "goal", "session", "global"]
_CHANNEL = r"[a-z0-9][a-z0-9_-]{0,31}"
# For a lane that is no chat, the part after the channel may itself contain colons: two ids of 128 characters each.
_CONVERSATION = r"[A-Za-z0-9_.@:-]{1,300}"
_ID = Grammar.CLIENT_ID
# The grammar of scopes that may be written directly, for descriptions of what is accepted.
OWN_SCOPE = f"(?:task:{_ID}|goal:{_CHANNEL}:{_CONVERSATION}:{_ID}|session:{_CHANNEL}:{_CONVERSATION})"
_FORMS: dict[ScopeKind, re.Pattern[str]] = {
    "global": re.compile("global"),
    "task": re.compile(f"task:(?P<task_id>{_ID})"),
    "goal": re.compile(f"goal:(?P<channel>{_CHANNEL}):(?P<conversation>{_CONVERSATION}):(?P<goal_id>{_ID})"),
    "session": re.compile(f"session:(?P<channel>{_CHANNEL}):(?P<conversation>{_CONVERSATION})"),
}


class Scope(Struct, frozen=True, kw_only=True):
    """One scope; create it with `parse` or a builder, which check its parts."""

    kind: ScopeKind
    channel: str = ""
    conversation: str = ""
    goal_id: str = ""
    task_id: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text form; raise Refusal for anything else."""
        for kind, form in _FORMS.items():
            if found := form.fullmatch(text):
                return cls(kind=kind, **found.groupdict())
        raise Refusal(
            Code.INVALID_SCOPE,
            f"'{text[:80]}' is not a memory scope; use global, session:<channel>:<conversation>, "
            "goal:<channel>:<conversation>:<goalId> or task:<taskId>.",
            field="scope",
        )

    @classmethod
    def of_session(cls, identity: tuple[str, str]) -> Self:
        """Return the scope of a session, given its (channelType, conversationKey)."""
        return cls.parse(f"session:{identity[0]}:{identity[1]}")

    @classmethod
    def of_goal(cls, identity: tuple[str, str], goal_id: str) -> Self:
        return cls.parse(f"goal:{identity[0]}:{identity[1]}:{goal_id}")

    @classmethod
    def of_task(cls, task_id: str) -> Self:
        return cls.parse(f"task:{task_id}")

    def lane_of(self, agent_id: str) -> SessionKey | None:
        """Return the key of an agent's lane that a session or goal scope belongs to; None if there is none."""
        for rest in (f"{self.channel}:{self.conversation}", "main", f"node-{self.conversation}"):
            key = SessionKey(agent_id, rest)
            if SessionKey.kind_of(rest) is not None and key.identity == self.identity:
                return key
        return None

    @property
    def identity(self) -> tuple[str, str]:
        """The (channelType, conversationKey) of the session that the scope of a session or a goal belongs to."""
        return self.channel, self.conversation

    def __str__(self) -> str:
        return ":".join(filter(None, (self.kind, self.channel, self.conversation, self.goal_id, self.task_id)))


GLOBAL_SCOPE = Scope(kind="global")


def scope_chain(
    identity: tuple[str, str], *, goal_id: str | None = None, task_id: str | None = None
) -> tuple[Scope, ...]:  # fmt: skip
    """Return the scopes that a run reads, narrowest first: its task, its goal, its session, and `global`."""
    chain = [] if task_id is None else [Scope.of_task(task_id)]
    chain += [] if goal_id is None else [Scope.of_goal(identity, goal_id)]
    return (*chain, Scope.of_session(identity), GLOBAL_SCOPE)
