"""A chat in which commands are typed."""

from typing import Literal

from carrel.commands.model import CommandContext, CommandResult
from carrel.commands.table import read_command, run_command
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import SessionsSettings, Settings
from carrel.runs import Rules
from carrel.sessions import lane_of
from carrel.storage import Database, Tx

KEY = SessionKey("main", "web:my-own-chat")


class Chat:
    """A chat and its owner."""

    def __init__(self, db: Database, owner: Access) -> None:
        self.db = db
        self.owner = owner

    async def type(
        self, text: str, access: Access | None = None, scope: Literal["per-conversation", "global"] = "per-conversation"
    ) -> CommandResult:
        """Send a command to the chat."""
        typed = read_command(text)
        assert typed is not None
        caller = access or self.owner

        def work(tx: Tx) -> CommandResult:
            lane = lane_of(tx, caller, KEY)
            assert lane is not None
            settings = Settings(sessions=SessionsSettings(scope=scope))
            context = CommandContext(
                lane=lane, settings=settings, rules=Rules(), channel="web", client_instance_id="tab"
            )
            return run_command(tx, caller, context, typed)

        return await self.db.write(work)
