"""The owner's token of this machine: in a file of the data directory, and in the store."""

import asyncio
from contextlib import nullcontext
from pathlib import Path

from carrel.access import access_by_token, account_by_slug, token_text
from carrel.agents import admit_owner
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Ids, SystemClock, system_chance
from carrel.main.assembly import open_store
from carrel.main.file_lock import own_file
from carrel.main.replace_file import replace_file
from carrel.storage import Database, sqlite_path

OWNER_TOKEN = "owner_token"  # noqa: S105  (the name of its file)


async def ensure_owner(db: Database, data_dir: Path) -> str:
    """Create the account at the first start, and a token if its file is missing; return the token if it is valid.

    A token that was revoked is not replaced: only `carrel token renew` does that.
    """
    file = data_dir / OWNER_TOKEN
    account = await db.read(lambda tx: account_by_slug(tx, DEFAULT_ACCOUNT_SLUG))
    if account is None or not await asyncio.to_thread(file.exists):
        return await renew_owner(db, data_dir)
    token = (await asyncio.to_thread(file.read_text)).strip()
    return token if await db.read(lambda tx: access_by_token(tx, token)) is not None else ""


async def renew_local_owner(url: str, data_dir: Path) -> Path:
    """Renew the owner's token of a store that no server uses, or that several may use; return its file."""
    path = sqlite_path(url)
    with own_file(path) if path is not None else nullcontext():
        db = open_store(url)
        try:
            await renew_owner(db, data_dir)
        finally:
            await db.close()
    return data_dir / OWNER_TOKEN


async def renew_owner(db: Database, data_dir: Path) -> str:
    """Write a new owner token into its file and into the store; return it. Earlier tokens stay as they are."""
    token_id = Ids(SystemClock(), system_chance()).new("tok")
    secret = token_text("owner", token_id)
    # The file first: a crash in between leaves a useless token, not an account without one.
    replace_file(data_dir / OWNER_TOKEN, secret + "\n", mode=0o600)
    await db.write(lambda tx: admit_owner(tx, token_id, secret))
    return secret
