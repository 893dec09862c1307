"""The account that every store under test begins with."""

from carrel.access import account_by_slug
from carrel.agents import open_account
from carrel.kernel import DEFAULT_ACCOUNT_SLUG
from carrel.storage import Tx


def ensure_default_account(tx: Tx) -> str | None:
    """Make account `default` where there is none; its owner token then, None ever after."""
    if account_by_slug(tx, DEFAULT_ACCOUNT_SLUG) is not None:
        return None
    return open_account(tx, "Default", DEFAULT_ACCOUNT_SLUG)[1]
