"""What can go wrong between a program and the server, as exceptions a caller can tell apart."""


class BridgeFault(Exception):
    """A request that brought no answer to work with."""


class NotReachable(BridgeFault):
    """No Carrel server answers at the address."""


class TimedOut(BridgeFault):
    """The server was reached and did not answer in time; what was asked may have been done."""


class Refused(BridgeFault):
    """The server answered that it will not, in its own words."""

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
