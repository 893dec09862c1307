"""The state of plan mode as a value. Pure."""

from msgspec import Struct

from carrel.kernel import SessionKey


class PlanState(Struct, frozen=True, kw_only=True):
    """Whether a session is in plan mode, and its active plan; if it never was, there is no time of change."""

    key: str
    enabled: bool = False
    active_plan_id: str | None = None
    updated_at: int | None = None

    @property
    def session_key(self) -> SessionKey:
        """The session it belongs to."""
        return SessionKey.stored(self.key)
