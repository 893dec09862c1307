"""What the events of goals and plans are about: their session."""

from carrel.journal import About, about_lane
from carrel.kernel import SessionKey


def about_session(key: SessionKey) -> About:
    """Return what an event of a goal or plan is about."""
    return about_lane(key)
