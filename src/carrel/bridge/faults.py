"""What can go wrong between a client and a server, as exceptions to tell apart."""


class BridgeFault(Exception):
    """A request that failed."""


class NotReachable(BridgeFault):
    """No server answers at the URL, or not one of the expected kind."""


class TimedOut(BridgeFault):
    """The server did not respond in time; it may have carried out the request."""


class Refused(BridgeFault):
    """The server refused the request; the message is its own."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, *, answer: object = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.answer = answer

    @property
    def not_allowed(self) -> bool:
        """Whether another token would help."""
        return self.status in (401, 403)


class EventsMissed(BridgeFault):
    """The feed cannot resume where requested; `seq` is the newest event, after which it can."""

    def __init__(self, reason: str, seq: int) -> None:
        why = {
            "overflow": "too many events were missed to replay them",
            "pruned": "events that old are no longer kept",
            "ahead": "the feed has not reached that number yet",
        }.get(reason, "the feed has restarted")
        super().__init__(f"Events were missed: {why}. The newest is {seq}.")
        self.reason = reason
        self.seq = seq
