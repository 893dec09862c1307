"""Our side: the normal server, but with an agent that replies at once.

`python -m bench.a2a.our_server DIR DURABILITY TASKS` creates a store with that many tasks and serves it on a free port.
Only the turn differs: no model is called and nothing is written to the journal, because the SDK's agent calls no model
and has no journal. The server itself reads its durability from the environment.
"""

import asyncio
import sys
from functools import partial
from pathlib import Path

import uvloop
from a2a.types import Message, Part, Role, SendMessageRequest

from bench.a2a.shape import ANSWER, CONTEXTS, HELD, RELEASING, SAID, state_of
from carrel.access import access_by_token
from carrel.delivery import Turns
from carrel.kernel import Access, Envelope, SessionKey, caller_hash
from carrel.main import assembly
from carrel.main.cli import main
from carrel.runs import Claim, Completed, Failed, Outcome, Rules, deliver
from carrel.runs.claims import claim
from carrel.runs.outcomes import settle
from carrel.storage import Tx, open_database
from carrel.surfaces.a2a.messages import to_message
from tests.harness.engine import ensure_default_account

# At most one per context in one transaction, because a lane starts one run at a time.
TASKS_AT_ONCE = 500
LEASE_MS = 60_000
_DONE = Completed(reply=ANSWER)
_FAILED = Failed(code="bench", message=ANSWER)


_released = asyncio.Event()


class AtOnce(Turns):
    """Replaces the turns; contexts with the suffix HELD wait until one with the suffix RELEASING runs."""

    async def handle(self, claim: Claim) -> Outcome:
        """Reply at once, unless held."""
        if claim.key.endswith(HELD):
            await _released.wait()
        elif claim.key.endswith(RELEASING):
            _released.set()
        return _DONE


async def fill(folder: Path, durability: str, tasks: int) -> None:
    """Create the account and deliver and settle the tasks as usual, many in one commit."""
    db = open_database(f"sqlite:///{folder / 'carrel.db'}", durability=durability)
    try:
        token = await db.write(ensure_default_account)
        assert token is not None
        (folder / "owner_token").write_text(token + "\n")
        access = await db.read(lambda tx: access_by_token(tx, token))
        assert access is not None
        for start in range(0, tasks, TASKS_AT_ONCE):
            numbers = range(start, min(start + TASKS_AT_ONCE, tasks))
            await db.write(partial(_seed, access=access, numbers=numbers))
    finally:
        await db.close()


def _seed(tx: Tx, access: Access, numbers: range) -> None:
    rules = Rules()
    failed = {
        deliver(tx, access, _envelope(access, number), rules).id: state_of(number) == "TASK_STATE_FAILED"
        for number in numbers
    }
    for run in claim(tx, "bench", LEASE_MS, len(failed)):
        settle(tx, run, _FAILED if failed[run.id] else _DONE)


def _envelope(access: Access, number: int) -> Envelope:
    context_id = f"context-{number % CONTEXTS}"
    message = Message(message_id=f"said-{number}", role=Role.ROLE_USER, parts=[Part(text=SAID)], context_id=context_id)
    to_deliver = to_message(SendMessageRequest(message=message), access.actor_id, f"seed:{number}")
    key = SessionKey.of("main", f"a2a:{caller_hash(access.actor_id)}:{context_id}")
    return Envelope(key=key, message=to_deliver, channel="api")


if __name__ == "__main__":
    home = Path(sys.argv[1])
    uvloop.run(fill(home, sys.argv[2], int(sys.argv[3])))
    assembly.Turns = AtOnce  # type: ignore[attr-defined]
    sys.exit(main(["serve", "--port", "0", "--data-dir", str(home)]))
