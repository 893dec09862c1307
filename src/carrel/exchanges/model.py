"""An exchange as a value: something sent to another session whose result comes back, and the moves it may make."""

from typing import Any, Literal

from msgspec import Struct, structs

from carrel.kernel import Access, Code, Refusal, SessionKey, system_access

Kind = Literal["send", "spawn"]
# primary: what was asked for; reply: rounds of answers; announce: the target puts the result into words; handover: the
# result goes into the requester's lane; carry: it goes out on a channel.
Step = Literal["primary", "reply", "announce", "handover", "carry"]
ExchangeState = Literal["open", "delivered", "skipped", "undelivered"]

# The state machines of an exchange: where it may go from each state, and while it is open from each step.
MOVES: dict[str, frozenset[str]] = {
    "open": frozenset({"open", "delivered", "skipped", "undelivered"}),
    "delivered": frozenset(),
    "skipped": frozenset(),
    # A person may have it offered again.
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
    """What follows one send or one spawn; its fields are the columns of its table."""

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
    # The first run is round 1; every answer to an answer is one more.
    round: int = 1
    rounds_max: int = 0
    last_reply: str | None = None
    announcement: str | None = None
    # 1 when the requester's call came back with the reply, 0 when it did not, None while that is open.
    answered_inline: int | None = 0
    attempts: int = 0
    due_at: int | None = None
    expires_at: int | None = None
    state: ExchangeState = "open"
    error: str | None = None
    ended_at: int | None = None
    # Of a spawn: whether the child goes once its result is delivered, and whether the result wakes the requester.
    cleanup: Literal["delete", "keep"] = "keep"
    wakes: int = 1

    @property
    def access(self) -> Access:
        """The house's access to the exchange's account."""
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
        """The lane on whose channel the result is said: the requester's for a spawn, the target's for a send."""
        return self.requester if self.kind == "spawn" else self.target


def states_before(after: str) -> tuple[str, ...]:
    """Return the states from which an exchange may become `after`."""
    return tuple(before for before, onward in MOVES.items() if after in onward)


def moved(exchange: Exchange, **changes: Any) -> Exchange:
    """The exchange with these changes; refused where the tables have no such move."""
    after = structs.replace(exchange, **changes)
    if after.state not in MOVES[exchange.state]:
        raise Refusal(Code.CONFLICT, f"An exchange that is {exchange.state} cannot become {after.state}.")
    if after.step not in STEPS[exchange.step]:
        raise Refusal(Code.CONFLICT, f"An exchange cannot go from step {exchange.step} to step {after.step}.")
    return after
