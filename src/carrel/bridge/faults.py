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
