"""The fixture of these tests: a chat in which commands are typed."""

from collections.abc import AsyncIterator

import pytest

from carrel.access import account_by_slug
from carrel.kernel import Access
from carrel.sessions import insert_lane
from carrel.storage import open_database
from tests.commands.chat import KEY, Chat
from tests.harness.engine import ensure_default_account


@pytest.fixture
async def chat(store_url: str) -> AsyncIterator[Chat]:
    """A chat of account `default`."""
    db = open_database(store_url)
    try:
        await db.write(ensure_default_account)
        account = await db.read(lambda tx: account_by_slug(tx, "default"))
        assert account is not None
        owner = Access(account_id=account.id, account_slug="default", kind="owner", actor_id="tok_1", name="Ada")
        await db.write(lambda tx: insert_lane(tx, owner, KEY))
        yield Chat(db, owner)
    finally:
        await db.close()
