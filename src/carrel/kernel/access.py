"""Access: who asks and what they may do now. Resolved once at the edge, first argument of every read."""

from typing import Literal

from msgspec import Struct

from carrel.kernel.errors import Code, Refusal
from carrel.kernel.keys import SessionKey

Kind = Literal["owner", "user", "agent", "run", "client", "system"]

DEFAULT_ACCOUNT_SLUG = "default"
PEOPLE: tuple[Kind, ...] = ("owner", "user")


class Access(Struct, frozen=True, kw_only=True):
    """An actor inside one account. `system` is the house itself working for that account."""

    account_id: str
    account_slug: str
    kind: Kind
    actor_id: str
    name: str = ""
    agent_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    # The one lane in sight, for who is bound to one.
    bound_to: SessionKey | None = None
    agent_ids: tuple[str, ...] = ()
    space_ids: tuple[str, ...] = ("*",)

    @property
    def is_person(self) -> bool:
        """True for an owner or a user."""
        return self.kind in PEOPLE

    def require(self, *kinds: Kind) -> None:
        """Refuse every kind that is not listed."""
        if self.kind not in kinds:
            raise Refusal(
                Code.FORBIDDEN, f"A token of kind {self.kind} may not do this; it takes {' or '.join(kinds)}."
            )


def system_access(account_id: str, account_slug: str = "") -> Access:
    """The house's own access to one account, for work that no caller waits for."""
    return Access(account_id=account_id, account_slug=account_slug, kind="system", actor_id="system", name="Carrel")
