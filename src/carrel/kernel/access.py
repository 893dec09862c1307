"""Access: who the caller is and what they may do. Resolved once per request, then passed to every read."""

from typing import Literal

from msgspec import Struct

from carrel.kernel.errors import Code, Refusal
from carrel.kernel.keys import SessionKey

Kind = Literal["owner", "user", "agent", "run", "client", "system"]

DEFAULT_ACCOUNT_SLUG = "default"
PEOPLE: tuple[Kind, ...] = ("owner", "user")


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
    # The only lane the caller may see, if it is bound to one.
    bound_to: SessionKey | None = None
    agent_ids: tuple[str, ...] = ()
    space_ids: tuple[str, ...] = ("*",)

    @property
    def is_person(self) -> bool:
        """Whether the actor is an owner or a user."""
        return self.kind in PEOPLE

    def require(self, *kinds: Kind) -> None:
        """Refuse every kind of actor that is not listed."""
        if self.kind not in kinds:
            raise Refusal(
                Code.FORBIDDEN, f"A token of kind {self.kind} may not do this; use one of kind {' or '.join(kinds)}."
            )


def system_access(account_id: str, account_slug: str = "") -> Access:
    """Return the system's own access to one account, for background work."""
    return Access(account_id=account_id, account_slug=account_slug, kind="system", actor_id="system", name="Carrel")
