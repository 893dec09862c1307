"""A failed attempt of a run, as a value and as it is shown."""

from typing import Generic

from carrel.kernel import MS_PER_SECOND, Shape, When


class FaultFields(Shape, Generic[When], frozen=True, kw_only=True):
    """Why an attempt failed, and when the next one starts; None once it has started.

    With `unreachable_since`, the gateway has not answered since then: the run waits, and the attempt does not count.
    """

    attempt: int
    code: str
    message: str
    at: When
    next_attempt_at: When | None
    unreachable_since: When | None


class Fault(FaultFields[int], frozen=True, kw_only=True):
    """Why an attempt failed, in milliseconds."""

    attempts_max: int
    # Whether it was held; then it is not counted either.
    is_held: bool = False

    def told(self, now: int | None = None) -> str:
        """Return a sentence for people; `now` is the moment it counts from, by default that of the failure."""
        said = f"{self.message.rstrip('. ')}."
        if self.is_held:
            return said
        if self.unreachable_since is None:
            said = f"Attempt {self.attempt} of {self.attempts_max} failed: {said}"
        else:
            said = f"{said} The message is kept and answered when it can be reached."
        if self.next_attempt_at is None:
            return f"{said} The next one is under way."
        seconds = max(1, round((self.next_attempt_at - (self.at if now is None else now)) / MS_PER_SECOND))
        return f"{said} Next try in {seconds} s."
