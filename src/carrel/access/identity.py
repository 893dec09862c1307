"""Authentication: turns the secret of a token or cookie into an Access."""

import msgspec
from msgspec import Struct, structs

from carrel.access import store
from carrel.access.model import NewToken, Token, token_text
from carrel.journal import About, append_event, json_text
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    MS_PER_DAY,
    MS_PER_MINUTE,
    Access,
    Code,
    Refusal,
    new_secret,
    not_found,
    secret_digest,
)
from carrel.kernel.limits import LOGIN_DAYS
from carrel.storage import Tx


class _AgentSpaces(Struct, frozen=True, rename="camel"):
    """What the profile of an agent says about spaces."""

    space_ids: tuple[str, ...] = ("*",)


_names = msgspec.json.Decoder(tuple[str, ...]).decode
_profile = msgspec.json.Decoder(_AgentSpaces).decode
# A run's token is valid until its run has ended.
_LIVE_STATES = ("queued", "running", "waiting")


def access_by_token(tx: Tx, secret: str) -> Access | None:
    """Return the access of a token; None if it is wrong, revoked or expired, or its agent or run has ended."""
    return _access(store.bearer_of_token(tx, secret_digest(secret)))


def access_and_touch(tx: Tx, secret: str) -> tuple[Access, str | None] | None:
    """Return the access of a token, and the token's id if its use was last recorded over a minute ago.

    Recording every use would cost too much.
    """
    bearer = store.bearer_of_token(tx, secret_digest(secret))
    access = _access(bearer)
    if bearer is None or access is None:
        return None
    return access, None if (bearer.last_used_at or 0) > tx.now - MS_PER_MINUTE else bearer.token_id


def access_by_login(tx: Tx, secret: str) -> Access | None:
    """Return the access of a sign-in cookie, if it is valid."""
    return _access(store.bearer_of_login(tx, secret_digest(secret)))


def owner_of_default(tx: Tx) -> Access:
    """Return the owner's access to account `default`, for local callers that the settings trust."""
    account = store.account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    assert account is not None, "the default account is created at the first start"
    return Access(account_id=account.id, account_slug=account.slug, kind="owner", actor_id="local", name="owner")


def mint_token(tx: Tx, access: Access, new: NewToken) -> tuple[Token, str]:
    """Create a token; return it with its secret, which is shown only once."""
    token_id = tx.new_id("tok")
    secret = token_text(new.kind, token_id)
    return store.insert_token(tx, access, token_id, new, secret_digest(secret)), secret


def mint_run_token(tx: Tx, access: Access, agent_id: str, run_id: str) -> str:
    """Create a run's token and return its secret; earlier tokens of the run become invalid."""
    if store.delete_run_tokens(tx, access, run_id):
        tx.wake(access.revocation_bell)
    return mint_token(tx, access, NewToken(kind="run", name=run_id, agent_id=agent_id, run_id=run_id))[1]


def admit_token(tx: Tx, access: Access, new: NewToken, token_id: str, secret: str) -> Token:
    """Store a token whose secret was created earlier, and written to a file for its owner."""
    return store.insert_token(tx, access, token_id, new, secret_digest(secret))


def revoke(tx: Tx, access: Access, token_id: str) -> None:
    """Revoke a token; the last owner token cannot be revoked, or nobody could create another."""
    known = store.token_by_id(tx, access, token_id)
    if known is not None and known.kind == "owner" and not store.other_owner_tokens(tx, access, token_id):
        raise Refusal(Code.CONFLICT, "This is the account's last owner token; create another one first.")
    if not store.revoke_token(tx, access, token_id):
        raise not_found("token")
    append_event(tx, access, "token.updated", About(), json_text({"id": token_id}))
    tx.wake(access.revocation_bell)


def sign_in(tx: Tx, secret: str) -> tuple[Access, str]:
    """Exchange a token for a sign-in cookie."""
    bearer = store.bearer_of_token(tx, secret_digest(secret))
    access = _access(bearer)
    if bearer is None or access is None:
        raise Refusal(Code.UNAUTHENTICATED, "This token is not valid; create one with `carrel token create`.")
    cookie = new_secret()
    store.insert_login(tx, access, bearer.token_id, secret_digest(cookie), tx.now + LOGIN_DAYS * MS_PER_DAY)
    return access, cookie


def sign_out(tx: Tx, access: Access, cookie: str) -> None:
    """Invalidate a sign-in cookie."""
    store.delete_login(tx, access, secret_digest(cookie))
    tx.wake(access.revocation_bell)


def _access(bearer: store.Bearer | None) -> Access | None:
    if bearer is None or bearer.agent_enabled == 0 or (bearer.kind == "run" and bearer.run_state not in _LIVE_STATES):
        return None
    # A user or agent stays the same actor when it gets a new token.
    actors = {"user": bearer.user_id, "agent": bearer.agent_id, "run": bearer.agent_id}
    access = Access(
        account_id=bearer.account_id,
        account_slug=bearer.account_slug,
        kind=bearer.kind,  # type: ignore[arg-type]
        actor_id=actors.get(bearer.kind) or bearer.token_id,
        name=bearer.user_name or bearer.name,
        agent_id=bearer.agent_id,
        user_id=bearer.user_id,
        run_id=bearer.run_id,
        agent_ids=_names(bearer.agent_ids),
        space_ids=_names(bearer.space_ids),
        behalf=bearer.run_behalf,
        expires_at=bearer.expires_at,
    )
    if bearer.run_space_ids is not None:
        causes = _names(bearer.run_space_ids)
        access = structs.replace(access, space_ids=access.narrowed(causes), cause_spaces=causes)
    if bearer.agent_profile is None:
        return access
    return structs.replace(access, space_ids=access.narrowed(_profile(bearer.agent_profile).space_ids))
