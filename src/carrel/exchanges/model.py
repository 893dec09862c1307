"""An exchange: something sent to another session whose result comes back, and its transitions. Pure."""

from typing import Any, Literal

from msgspec import Struct, structs

from carrel.kernel import Access, Code, Refusal, SessionKey, system_access

Kind = Literal["send", "spawn"]
# primary: the target's run; reply: rounds of replies; announce: the target puts the result into words; handover: the
# result is delivered to the requester's lane; carry: it is posted on a channel.
Step = Literal["primary", "reply", "announce", "handover", "carry"]
ExchangeState = Literal["open", "delivered", "skipped", "undelivered"]

# The state machines of an exchange: the transitions from each state, and while it is open from each step.
MOVES: dict[str, frozenset[str]] = {
    "open": frozenset({"open", "delivered", "skipped", "undelivered"}),
    "delivered": frozenset(),
    "skipped": frozenset(),
    # A person may have it delivered again.
    "undelivered": frozenset({"open"}),
}
STEPS: dict[str, frozenset[str]] = {
    "primary": frozenset({"primary", "reply", "announce", "handover"}),
    "reply": frozenset({"reply", "announce"}),
    "announce": frozenset({"announce", "handover", "carry"}),
    "handover": frozenset({"handover", "carry"}),
    "carry": frozenset({"carry"}),
}


class Exchange(Struct, frozen=True, kw_only=True):
    """What follows a send or a spawn; its fields are the columns of its table."""

    account_id: str
    id: str
    kind: Kind
    requester_key: str
    target_key: str
    first_run_id: str
    created_at: int
    requester_session_id: str | None = None
    requester_run_id: str | None = None
    current_run_id: str | None = None
    step: Step = "primary"
    # The first run is round 1; every further reply adds one.
    round: int = 1
    rounds_max: int = 0
    last_reply: str | None = None
    announcement: str | None = None
    # 1 if the requester's call returned the reply, 0 if not, None while that is undecided.
    answered_inline: int | None = 0
    attempts: int = 0
    due_at: int | None = None
    expires_at: int | None = None
    state: ExchangeState = "open"
    error: str | None = None
    ended_at: int | None = None
    # For a spawn: whether the child is deleted after delivery, and whether the result starts a run of the requester.
    cleanup: Literal["delete", "keep"] = "keep"
    wakes: int = 1

    @property
    def access(self) -> Access:
        """The system's access to the exchange's account."""
        return system_access(self.account_id)

    @property
    def requester(self) -> SessionKey:
        """The lane that asked."""
        return SessionKey.stored(self.requester_key)

    @property
    def target(self) -> SessionKey:
        """The lane that was asked."""
        return SessionKey.stored(self.target_key)

    @property
    def announced_in(self) -> SessionKey:
        """The lane on whose channel the result is posted: the requester's for a spawn, the target's for a send."""
        return self.requester if self.kind == "spawn" else self.target


def states_before(after: str) -> tuple[str, ...]:
    return tuple(before for before, onward in MOVES.items() if after in onward)


def moved(exchange: Exchange, **changes: Any) -> Exchange:
    """Return the exchange with these changes; refuse transitions that are not in the tables."""
    after = structs.replace(exchange, **changes)
    if after.state not in MOVES[exchange.state]:
        raise Refusal(Code.CONFLICT, f"An exchange that is {exchange.state} cannot become {after.state}.")
    if after.step not in STEPS[exchange.step]:
        raise Refusal(Code.CONFLICT, f"An exchange cannot go from step {exchange.step} to step {after.step}.")
    return after
