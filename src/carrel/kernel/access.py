"""Access: who the caller is and what they may do. Resolved once per request, then passed to every read."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct, structs

from carrel.kernel.errors import Code, Refusal
from carrel.kernel.keys import SessionKey

Kind = Literal["owner", "user", "agent", "run", "client", "system"]

DEFAULT_ACCOUNT_SLUG = "default"
PEOPLE: tuple[Kind, ...] = ("owner", "user")


class ToolVisibility(Struct, frozen=True, kw_only=True):
    """What an agent sees from one lane, with its tools and on every other surface.

    Each mode includes the one before it: `self` is the lane itself, `tree` adds what was spawned from it, `agent` adds
    every lane of its agent, `all` adds lanes of other agents where agents may see one another.
    """

    mode: Literal["self", "tree", "agent", "all"]
    key: SessionKey
    # The rule that decided the mode, naming its setting; quoted in refusals.
    rule: str
    # Set for people: they see the whole account in every mode.
    whole_account: bool = False
    # Whether it is sandboxed; from a sandbox it learns nothing about sessions that it may not see.
    sandboxed: bool = False
    others_enabled: bool = False
    others_allowed: tuple[str, ...] = ()

    def covers_agent(self, agent_id: str) -> bool:
        """Return whether every lane of that agent is visible."""
        if self.whole_account:
            return True
        if agent_id == self.key.agent:
            return self.mode in ("agent", "all")
        return self.mode == "all" and self.others_enabled and self._allows(agent_id) and self._allows(self.key.agent)

    def _allows(self, agent_id: str) -> bool:
        patterns = self.others_allowed
        return not patterns or any(fnmatchcase(agent_id, pattern.lower()) for pattern in patterns)


class Access(Struct, frozen=True, kw_only=True):
    """An actor inside one account; `system` is Carrel itself."""

    account_id: str
    account_slug: str
    kind: Kind
    actor_id: str
    name: str = ""
    agent_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    # What an agent sees, and from where; without it an agent sees nothing.
    view: ToolVisibility | None = None
    agent_ids: tuple[str, ...] = ()
    # The spaces whose contents it may see; `*` means all. For an agent: the spaces its token and its settings both
    # allow.
    space_ids: tuple[str, ...] = ("*",)
    # The user or program that caused a run; the run does not see anybody else's chats.
    behalf: str | None = None
    # The spaces of whoever caused a run; `space_ids` narrows them to those of its agent.
    cause_spaces: tuple[str, ...] = ("*",)
    # When the token or the sign-in expires, in milliseconds; None means never.
    expires_at: int | None = None

    @property
    def revocation_bell(self) -> str:
        """The name of the bell that rings when the rights of somebody in the account shrink or change."""
        return f"rights {self.account_id}"

    @property
    def speaks_for(self) -> str | None:
        """The user or program that acts, or that a run acts for; None if nobody limits it."""
        return self.actor_id if self.kind in ("user", "client") else self.behalf

    def as_system(self) -> "Access":
        """Return the system's access in this actor's name, with no wider view than the actor has."""
        return structs.replace(self, kind="system", view=None, behalf=self.speaks_for)

    @property
    def is_person(self) -> bool:
        """Whether the actor is an owner or a user."""
        return self.kind in PEOPLE

    @property
    def is_operator(self) -> bool:
        """Whether this is the owner of the account `default`, who runs the server."""
        return self.kind == "owner" and self.account_slug == DEFAULT_ACCOUNT_SLUG

    @property
    def current(self) -> SessionKey | None:
        """The caller's own session, if it has one."""
        return self.view.key if self.view else None

    def covers(self, spaces: Iterable[str]) -> bool:
        """Return whether the actor may see any of these spaces."""
        return "*" in self.space_ids or not set(self.space_ids).isdisjoint(spaces)

    def narrowed(self, spaces: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the spaces that the actor may see, in order; None and `*` mean all of them."""
        if spaces is None or "*" in spaces:
            return self.space_ids
        own, named = set(self.space_ids), dict.fromkeys(spaces)
        return tuple(named) if "*" in own else tuple(space for space in named if space in own)

    def require(self, *kinds: Kind, tool: str = "") -> None:
        """Refuse every kind of actor that is not listed; the refusal tells agents which tool to use instead."""
        if self.kind in kinds:
            return
        instead = f"use one of kind {' or '.join(kinds)}."
        if tool and self.kind in ("agent", "run"):
            instead = f"use the tool {tool}, over MCP or with POST /agent/{tool}."
        raise Refusal(Code.FORBIDDEN, f"A token of kind {self.kind} may not do this; {instead}")


def system_access(account_id: str, account_slug: str = "") -> Access:
    """Return the system's own access to one account, for background work."""
    return Access(account_id=account_id, account_slug=account_slug, kind="system", actor_id="system", name="Carrel")
