"""Fixtures of the Telegram tests: a Bot API that answers."""

from collections.abc import AsyncIterator

import pytest

from tests.surfaces.telegram.bot_api import BotApi


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    """A Bot API on a free port."""
    async with BotApi().serving() as serving:
        yield serving
