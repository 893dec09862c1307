"""Users are removed with their tokens and cookies."""

from carrel.access import (
    access_by_login,
    make_user,
    remove_user,
    sign_in,
)
from tests.access.test_identity import holder, mint
from tests.harness.engine import Engine


async def test_removing_a_user_removes_their_tokens_and_cookies(engine: Engine) -> None:
    user = await engine.db.write(
        lambda tx: make_user(tx, engine.access, name="Ann", slug="ann", email=None, role="member")
    )
    _, secret = await mint(engine, "user", user_id=user.id)
    _, cookie = await engine.db.write(lambda tx: sign_in(tx, secret))
    await engine.db.write(lambda tx: remove_user(tx, engine.access, user.id))
    assert await holder(engine, secret) is None
    assert await engine.db.read(lambda tx: access_by_login(tx, cookie)) is None
