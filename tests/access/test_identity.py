"""Tokens of five kinds, sign-in cookies, and what invalidates both."""

import pytest
from msgspec import structs

from carrel.access import (
    NewToken,
    Token,
    access_and_touch,
    access_by_login,
    access_by_token,
    live_tokens,
    make_user,
    mint_token,
    owner_of_default,
    revoke,
    sign_in,
    sign_out,
    touch_token,
)
from carrel.access.model import TokenKind
from carrel.agents import change_agent, require_agent
from carrel.kernel import MS_PER_DAY, Access, Code, Refusal, redact
from carrel.kernel.settings import Settings
from carrel.runs.pruner import prune
from tests.harness.engine import MAIN, Engine
from tests.requirements.mark import requirement


async def mint(engine: Engine, kind: TokenKind, **more: object) -> tuple[Token, str]:
    new = NewToken(kind=kind, name=f"a {kind}", **more)  # type: ignore[arg-type]
    return await engine.db.write(lambda tx: mint_token(tx, engine.access, new))


async def holder(engine: Engine, secret: str) -> Access | None:
    return await engine.db.read(lambda tx: access_by_token(tx, secret))


async def test_each_kind_of_token_stands_for_its_actor(engine: Engine) -> None:
    user = await engine.db.write(
        lambda tx: make_user(tx, engine.access, name="Ann", slug="ann", email=None, role="member")
    )
    run = await engine.say(MAIN, "go")
    minted = {
        "owner": await mint(engine, "owner"),
        "user": await mint(engine, "user", user_id=user.id),
        "agent": await mint(engine, "agent", agent_id="main", space_ids=("space-a",)),
        "run": await mint(engine, "run", agent_id="main", run_id=run.id),
        "client": await mint(engine, "client", agent_ids=("main",)),
    }
    found = {kind: await holder(engine, secret) for kind, (_, secret) in minted.items()}
    for kind, access in found.items():
        assert access is not None
        assert (access.kind, access.account_id) == (kind, engine.access.account_id)
    actors = {kind: access.actor_id for kind, access in found.items() if access}
    assert actors == {
        "owner": minted["owner"][0].id,
        "user": user.id,
        "agent": "main",
        "run": "main",
        "client": minted["client"][0].id,
    }
    agent, client, of_run = found["agent"], found["client"], found["run"]
    assert agent is not None
    assert client is not None
    assert of_run is not None
    assert (agent.agent_id, agent.space_ids) == ("main", ("space-a",))
    assert (client.agent_ids, client.is_person, of_run.run_id) == (("main",), False, run.id)


@requirement("S0.x.secrets")
async def test_only_hashes_of_secrets_are_stored_and_their_text_is_redacted(engine: Engine) -> None:
    token, secret = await mint(engine, "owner")
    _, cookie = await engine.db.write(lambda tx: sign_in(tx, secret))
    rows = await engine.db.read(
        lambda tx: tx.all("SELECT id, name, secret_sha256 FROM tokens") + tx.all("SELECT * FROM logins")
    )
    stored = " ".join(str(value) for row in rows for value in row)
    secret_part = secret.rpartition("_")[2]
    assert secret.startswith("crl_owner_")
    assert token.id.removeprefix("tok_") in secret
    for hidden in (secret, secret_part, cookie):
        assert hidden not in stored
    assert secret_part not in redact(f"failed with {secret}")


async def test_a_wrong_changed_or_foreign_secret_gives_no_access(engine: Engine) -> None:
    _, secret = await mint(engine, "owner")
    _, cookie = await engine.db.write(lambda tx: sign_in(tx, secret))
    for wrong in ("", "crl_owner_x_y", secret[:-1], secret.upper(), secret + "0", cookie):
        assert await holder(engine, wrong) is None
    assert await engine.db.read(lambda tx: access_by_login(tx, secret)) is None


async def test_an_expired_token_is_invalid(engine: Engine) -> None:
    _, secret = await mint(engine, "owner", expires_at=engine.clock.now_ms() + 5_000)
    _, cookie = await engine.db.write(lambda tx: sign_in(tx, secret))
    engine.advance(4.999)
    assert await holder(engine, secret) is not None
    engine.advance(0.001)
    assert await holder(engine, secret) is None
    assert await engine.db.read(lambda tx: access_by_login(tx, cookie)) is None


async def test_a_revoked_token_and_its_cookies_are_invalid_at_once(engine: Engine) -> None:
    token, secret = await mint(engine, "owner")
    _, cookie = await engine.db.write(lambda tx: sign_in(tx, secret))
    await engine.db.write(lambda tx: revoke(tx, engine.access, token.id))
    assert await holder(engine, secret) is None
    assert await engine.db.read(lambda tx: access_by_login(tx, cookie)) is None
    listed = await engine.db.read(lambda tx: live_tokens(tx, engine.access, after="", limit=50))
    assert token.id not in [one.id for one in listed]
    with pytest.raises(Refusal) as again:
        await engine.db.write(lambda tx: revoke(tx, engine.access, token.id))
    assert again.value.code == Code.NOT_FOUND


async def test_the_last_owner_token_cannot_be_revoked(engine: Engine) -> None:
    (first,) = await engine.db.read(lambda tx: live_tokens(tx, engine.access, after="", limit=50))
    await mint(engine, "owner", expires_at=engine.clock.now_ms() + 1)
    engine.advance(1)
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: revoke(tx, engine.access, first.id))
    assert caught.value.code == Code.CONFLICT
    await mint(engine, "owner")
    await engine.db.write(lambda tx: revoke(tx, engine.access, first.id))


async def test_a_token_of_another_account_cannot_be_revoked(engine: Engine) -> None:
    other = await engine.another_account("acme")
    token, secret = await mint(engine, "owner")
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: revoke(tx, other, token.id))
    assert caught.value.code == Code.NOT_FOUND
    assert await holder(engine, secret) is not None


async def test_the_tokens_of_an_agent_are_invalid_while_it_is_disabled(engine: Engine) -> None:
    _, secret = await mint(engine, "agent", agent_id="main")
    agent = await engine.db.read(lambda tx: require_agent(tx, engine.access, "main"))
    await engine.db.write(lambda tx: change_agent(tx, engine.access, structs.replace(agent, enabled=False)))
    assert await holder(engine, secret) is None
    await engine.db.write(lambda tx: change_agent(tx, engine.access, agent))
    assert await holder(engine, secret) is not None


async def test_a_run_token_is_valid_until_its_run_ends(engine: Engine) -> None:
    run = await engine.say(MAIN, "go")
    _, secret = await mint(engine, "run", agent_id="main", run_id=run.id)
    assert await holder(engine, secret) is not None
    held = await engine.take_one()
    assert await holder(engine, secret) is not None
    await engine.end(held)
    assert await holder(engine, secret) is None
    listed = await engine.db.read(lambda tx: live_tokens(tx, engine.access, after="", limit=50))
    assert "run" not in {token.kind for token in listed}


async def test_a_run_whose_token_was_used_to_sign_in_can_still_be_pruned(engine: Engine) -> None:
    run = await engine.say(MAIN, "go")
    _, secret = await mint(engine, "run", agent_id="main", run_id=run.id)
    await engine.db.write(lambda tx: sign_in(tx, secret))
    await engine.end(await engine.take_one())
    engine.advance(31 * 24 * 3600)
    assert await engine.db.write(lambda tx: prune(tx, Settings())) >= 1


async def test_a_cookie_is_valid_until_sign_out_or_expiry(engine: Engine) -> None:
    _, secret = await mint(engine, "owner")
    access, first = await engine.db.write(lambda tx: sign_in(tx, secret))
    signed_in = structs.replace(access, expires_at=await engine.db.read(lambda tx: tx.now) + 30 * MS_PER_DAY)
    _, second = await engine.db.write(lambda tx: sign_in(tx, secret))
    assert await engine.db.read(lambda tx: access_by_login(tx, first)) == signed_in
    await engine.db.write(lambda tx: sign_out(tx, access, first))
    assert await engine.db.read(lambda tx: access_by_login(tx, first)) is None
    assert await engine.db.read(lambda tx: access_by_login(tx, second)) == signed_in
    engine.advance(30 * MS_PER_DAY / 1000)
    assert await engine.db.read(lambda tx: access_by_login(tx, second)) is None
    with pytest.raises(Refusal) as caught:
        await engine.db.write(lambda tx: sign_in(tx, "crl_owner_wrong_wrong"))
    assert caught.value.code == Code.UNAUTHENTICATED


async def test_the_last_use_of_a_token_is_recorded_once_a_minute(engine: Engine) -> None:
    token, secret = await mint(engine, "owner")
    access = await holder(engine, secret)
    assert await engine.db.read(lambda tx: access_and_touch(tx, secret)) == (access, token.id)
    await engine.db.write(lambda tx: touch_token(tx, engine.access, token.id))
    assert await engine.db.read(lambda tx: access_and_touch(tx, secret)) == (access, None)
    engine.advance(60)
    assert await engine.db.read(lambda tx: access_and_touch(tx, secret)) == (access, token.id)
    assert await engine.db.read(lambda tx: access_and_touch(tx, "wrong")) is None


async def test_a_trusted_caller_on_this_machine_is_the_owner_of_the_default_account(engine: Engine) -> None:
    await engine.another_account("acme")
    access = await engine.db.read(owner_of_default)
    assert (access.kind, access.account_id) == ("owner", engine.access.account_id)


async def test_an_agent_is_limited_to_the_spaces_of_its_token_that_are_its_own(engine: Engine) -> None:
    await engine.make_agent("writer", space_ids=("space-a", "space-b"))
    expected = {("*",): ("space-a", "space-b"), ("space-b", "space-c"): ("space-b",), ("space-c",): ()}
    for given, seen in expected.items():
        _, secret = await mint(engine, "agent", agent_id="writer", space_ids=given)
        access = await holder(engine, secret)
        assert access is not None
        assert access.space_ids == seen
