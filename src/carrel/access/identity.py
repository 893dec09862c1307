"""From a secret to an Access: the one place that decides who is asking."""

import msgspec

from carrel.access import store
from carrel.access.model import NewToken, Token, digest, token_text
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, MS_PER_DAY, MS_PER_MINUTE, Access, Code, Refusal, new_secret, not_found
from carrel.kernel.limits import LOGIN_DAYS
from carrel.storage import Tx

_names = msgspec.json.Decoder(tuple[str, ...]).decode
# A run's token lives as long as its run moves.
_MOVING = ("queued", "running", "waiting")


def access_by_token(tx: Tx, secret: str) -> Access | None:
    """Who holds this token; None for one that is wrong, revoked, expired, or whose agent or run is gone."""
    return _access(store.bearer_of_token(tx, digest(secret)))


def access_and_touch(tx: Tx, secret: str) -> tuple[Access, str | None] | None:
    """Who holds this token, as in `access_by_token`, and the id of a token whose last use is older than a minute.

    To write down every use would cost more than it tells.
    """
    bearer = store.bearer_of_token(tx, digest(secret))
    access = _access(bearer)
    if bearer is None or access is None:
        return None
    return access, None if (bearer.last_used_at or 0) > tx.now - MS_PER_MINUTE else bearer.token_id


def access_by_login(tx: Tx, secret: str) -> Access | None:
    """Who is signed in by this cookie."""
    return _access(store.bearer_of_login(tx, digest(secret)))


def owner_of_default(tx: Tx) -> Access:
    """The owner of account `default`, for callers on this machine when the settings trust them."""
    account = store.account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    assert account is not None, "the default account is made at the first start"
    return Access(account_id=account.id, account_slug=account.slug, kind="owner", actor_id="local", name="owner")


def mint_token(tx: Tx, access: Access, new: NewToken) -> tuple[Token, str]:
    """A new token and its secret, which is shown this once."""
    token_id = tx.new_id("tok")
    secret = token_text(new.kind, token_id)
    return store.insert_token(tx, access, token_id, new, digest(secret)), secret


def mint_run_token(tx: Tx, access: Access, agent_id: str, run_id: str) -> str:
    """The secret of a run's token; those that the run had before end with it."""
    store.delete_run_tokens(tx, access, run_id)
    new = NewToken(kind="run", name=run_id, agent_id=agent_id, run_id=run_id)
    return mint_token(tx, access, new)[1]


def admit_token(tx: Tx, access: Access, new: NewToken, token_id: str, secret: str) -> Token:
    """Let a token in that was made, and written down for its owner, before."""
    return store.insert_token(tx, access, token_id, new, digest(secret))


def revoke(tx: Tx, access: Access, token_id: str) -> None:
    """End a token at once; the last owner token stays, or nobody could ever make another."""
    known = store.token_by_id(tx, access, token_id)
    if known is not None and known.kind == "owner" and not store.other_owner_tokens(tx, access, token_id):
        raise Refusal(Code.CONFLICT, "This is the account's last owner token; make another one first.")
    if not store.revoke_token(tx, access, token_id):
        raise not_found("token")


def sign_in(tx: Tx, secret: str) -> tuple[Access, str]:
    """Exchange a token for an opaque cookie."""
    bearer = store.bearer_of_token(tx, digest(secret))
    access = _access(bearer)
    if bearer is None or access is None:
        raise Refusal(Code.UNAUTHENTICATED, "This token is not valid (any more); make one with `carrel token create`.")
    cookie = new_secret()
    store.insert_login(tx, access, bearer.token_id, digest(cookie), tx.now + LOGIN_DAYS * MS_PER_DAY)
    return access, cookie


def sign_out(tx: Tx, access: Access, cookie: str) -> None:
    """End the sign-in behind a cookie."""
    store.delete_login(tx, access, digest(cookie))


def _access(bearer: store.Bearer | None) -> Access | None:
    if bearer is None or bearer.agent_enabled == 0 or (bearer.kind == "run" and bearer.run_state not in _MOVING):
        return None
    # The actor outlives the token: a person or agent that gets a new one stays the same actor.
    actor = {"user": bearer.user_id, "agent": bearer.agent_id, "run": bearer.agent_id}.get(
        bearer.kind
    ) or bearer.token_id
    return Access(
        account_id=bearer.account_id,
        account_slug=bearer.account_slug,
        kind=bearer.kind,  # type: ignore[arg-type]
        actor_id=actor,
        name=bearer.user_name or bearer.name,
        agent_id=bearer.agent_id,
        user_id=bearer.user_id,
        run_id=bearer.run_id,
        agent_ids=_names(bearer.agent_ids),
        space_ids=_names(bearer.space_ids),
    )
