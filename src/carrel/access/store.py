"""The SQL of accounts, users, tokens, logins and answers."""

from typing import Any

from msgspec import Struct

from carrel.access.model import Account, NewToken, Token, User
from carrel.kernel import Access
from carrel.storage import Row, Table, Tx, json_column

_NAMES = {"agent_ids": json_column(tuple[str, ...]), "space_ids": json_column(tuple[str, ...])}
_SETTINGS = json_column(dict[str, Any])
_ACCOUNTS = Table("accounts", Account, key=("id",), codecs={"settings": _SETTINGS})
_USERS = Table("users", User)
_TOKENS = Table("tokens", Token, codecs=_NAMES)
_NEW_TOKENS = Table("tokens", NewToken, also=("secret_sha256", "created_at"), codecs=_NAMES)
_BEARER = (
    "a.id, a.slug, t.kind, t.id, t.name, t.agent_id, t.user_id, t.run_id, t.agent_ids, t.space_ids, t.last_used_at, "
    "t.expires_at, u.name, g.enabled, g.profile, r.state, r.space_ids, r.behalf"
)


class Bearer(Struct, frozen=True):
    """Who a secret belongs to, with the state of the agent and the run behind it."""

    account_id: str
    account_slug: str
    kind: str
    token_id: str
    name: str
    agent_id: str | None
    user_id: str | None
    run_id: str | None
    agent_ids: str
    space_ids: str
    last_used_at: int | None
    expires_at: int | None
    user_name: str | None
    agent_enabled: int | None
    agent_profile: str | None
    run_state: str | None
    run_space_ids: str | None
    run_behalf: str | None


_JOINS = (
    "JOIN accounts a ON a.id = t.account_id "
    "LEFT JOIN users u ON u.account_id = t.account_id AND u.id = t.user_id "
    "LEFT JOIN agents g ON g.account_id = t.account_id AND g.id = t.agent_id "
    "LEFT JOIN runs r ON r.account_id = t.account_id AND r.id = t.run_id "
)
_IS_LIVE = "t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > :now)"


def bearer_of_token(tx: Tx, secret_sha256: str) -> Bearer | None:
    """Return who holds a live token with that digest, across all accounts."""
    sql = f"SELECT {_BEARER} FROM tokens t {_JOINS} WHERE t.secret_sha256 = :digest AND {_IS_LIVE}"
    row = tx.one(sql, digest=secret_sha256, now=tx.now)
    return None if row is None else Bearer(*row)


def bearer_of_login(tx: Tx, secret_sha256: str) -> Bearer | None:
    """Return who is signed in by a cookie with that digest; the token behind it must be live."""
    # The cookie may expire before the token behind it, or the token before the cookie.
    first = "CASE WHEN t.expires_at < l.expires_at THEN t.expires_at ELSE l.expires_at END"
    bearer = _BEARER.replace("t.expires_at", first)
    sql = (
        f"SELECT {bearer} FROM logins l JOIN tokens t ON t.account_id = l.account_id AND t.id = l.token_id {_JOINS} "
        f"WHERE l.secret_sha256 = :digest AND l.expires_at > :now AND {_IS_LIVE}"
    )
    row = tx.one(sql, digest=secret_sha256, now=tx.now)
    return None if row is None else Bearer(*row)


def account_by_slug(tx: Tx, slug: str) -> Account | None:
    """Return an account by its slug; for the start of the server, which has no account."""
    return _ACCOUNTS.row(tx.one(f"{_ACCOUNTS.select} WHERE slug = :slug", slug=slug))


def every_account(tx: Tx) -> list[Account]:
    """Return all accounts; for the server's own duties and the owner of the default account."""
    return _ACCOUNTS.rows(tx.all(f"{_ACCOUNTS.select} ORDER BY created_at, id"))


def insert_account(tx: Tx, account: Account) -> bool:
    """Write a new account; False when its slug is taken."""
    return tx.run(f"{_ACCOUNTS.insert} ON CONFLICT DO NOTHING", **_ACCOUNTS.values(account)) > 0


def account_of(tx: Tx, access: Access) -> Account:
    """Return the caller's own account."""
    return tx.cached(("account", access.account_id), lambda: _own(tx, access, ""))


def hold_account(tx: Tx, access: Access) -> Account:
    """Return the caller's own account, locked against other changes until the end of the transaction."""
    # The lock may have waited for another change.
    tx.invalidate()
    return _own(tx, access, "FOR NO KEY UPDATE")


def _own(tx: Tx, access: Access, lock: str) -> Account:
    account = _ACCOUNTS.row(tx.one(f"{_ACCOUNTS.select} WHERE id = :account {lock}", access))
    assert account is not None, "an account is never deleted"
    return account


def update_account(tx: Tx, access: Access, name: str, settings: dict[str, Any]) -> None:
    """Change the caller's own account."""
    sql = "UPDATE accounts SET name = :name, settings = :settings WHERE id = :account"
    tx.run(sql, access, name=name, settings=_SETTINGS.encode(settings))
    tx.invalidate()


def every_user(tx: Tx, access: Access) -> list[User]:
    """Return the account's users."""
    return _USERS.rows(tx.all(f"{_USERS.select} WHERE account_id = :account ORDER BY created_at, id", access))


def user_by_id(tx: Tx, access: Access, user_id: str) -> User | None:
    """Return one user."""
    return _USERS.one(tx, access, "id = :id", id=user_id)


def insert_user(tx: Tx, access: Access, user: User) -> bool:
    """Write a new user; False when the slug is taken."""
    return tx.run(f"{_USERS.insert} ON CONFLICT DO NOTHING", access, **_USERS.values(user)) > 0


def update_user(tx: Tx, access: Access, user: User) -> None:
    tx.run(_USERS.update, access, **_USERS.values(user))


def slug_taken(tx: Tx, access: Access, slug: str, but: str) -> bool:
    sql = "SELECT 1 FROM users WHERE account_id = :account AND slug = :slug AND id <> :but"
    return tx.one(sql, access, slug=slug, but=but) is not None


def delete_user(tx: Tx, access: Access, user_id: str) -> bool:
    """Delete a user with all their tokens and logins."""
    own_tokens = "SELECT id FROM tokens WHERE account_id = :account AND user_id = :id"
    tx.run(f"DELETE FROM logins WHERE account_id = :account AND token_id IN ({own_tokens})", access, id=user_id)
    tx.run("DELETE FROM tokens WHERE account_id = :account AND user_id = :id", access, id=user_id)
    return tx.run("DELETE FROM users WHERE account_id = :account AND id = :id", access, id=user_id) > 0


def insert_token(tx: Tx, access: Access, token_id: str, new: NewToken, secret_sha256: str) -> Token:
    """Write a new token."""
    values = _NEW_TOKENS.values(new)
    tx.run(_NEW_TOKENS.insert, access, id=token_id, secret_sha256=secret_sha256, created_at=tx.now, **values)
    found = token_by_id(tx, access, token_id)
    assert found is not None
    return found


def token_by_id(tx: Tx, access: Access, token_id: str) -> Token | None:
    return _TOKENS.one(tx, access, "revoked_at IS NULL AND id = :id", id=token_id)


def live_tokens(tx: Tx, access: Access, *, after: str, limit: int) -> list[Token]:
    """Return the account's live tokens after an id, without those of runs."""
    where = "revoked_at IS NULL AND kind <> 'run' AND id > :after ORDER BY id LIMIT :limit"
    return _TOKENS.all(tx, access, where, after=after, limit=limit)


def other_owner_tokens(tx: Tx, access: Access, token_id: str) -> int:
    """Return how many other owner tokens the account has; locks them until the end of the transaction."""
    sql = (
        "SELECT id FROM tokens WHERE account_id = :account AND kind = 'owner' AND revoked_at IS NULL "
        "AND (expires_at IS NULL OR expires_at > :now) ORDER BY id FOR UPDATE"
    )
    return sum(row[0] != token_id for row in tx.all(sql, access, now=tx.now))


def revoke_token(tx: Tx, access: Access, token_id: str) -> bool:
    """Revoke a token and end every login based on it."""
    tx.run("DELETE FROM logins WHERE account_id = :account AND token_id = :id", access, id=token_id)
    sql = "UPDATE tokens SET revoked_at = :now WHERE account_id = :account AND id = :id AND revoked_at IS NULL"
    return tx.run(sql, access, id=token_id, now=tx.now) > 0


def delete_run_tokens(tx: Tx, access: Access, run_id: str) -> bool:
    """Delete every token of a run; return whether there was one."""
    return tx.run("DELETE FROM tokens WHERE account_id = :account AND run_id = :run_id", access, run_id=run_id) > 0


def prune_run_tokens(tx: Tx, access: Access, *, limit: int) -> int:
    """Delete tokens of ended runs, in small batches; they are already invalid."""
    sql = (
        "DELETE FROM tokens WHERE account_id = :account AND id IN (SELECT t.id FROM tokens t JOIN runs r "
        "ON r.account_id = t.account_id AND r.id = t.run_id WHERE t.account_id = :account AND t.run_id IS NOT NULL "
        "AND r.ended_at IS NOT NULL LIMIT :limit)"
    )
    return tx.run(sql, access, limit=limit)


def touch_token(tx: Tx, access: Access, token_id: str) -> None:
    """Record that a token was used."""
    sql = "UPDATE tokens SET last_used_at = :now WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=token_id, now=tx.now)


def insert_login(tx: Tx, access: Access, token_id: str, secret_sha256: str, expires_at: int) -> None:
    """Record a browser's sign-in and delete the account's expired ones."""
    tx.run("DELETE FROM logins WHERE account_id = :account AND expires_at <= :now", access, now=tx.now)
    sql = (
        "INSERT INTO logins (account_id, id, secret_sha256, token_id, created_at, expires_at) "
        "VALUES (:account, :id, :digest, :token_id, :now, :expires_at)"
    )
    login = {"id": tx.new_id("login"), "digest": secret_sha256, "token_id": token_id}
    tx.run(sql, access, now=tx.now, expires_at=expires_at, **login)


def delete_login(tx: Tx, access: Access, secret_sha256: str) -> None:
    sql = "DELETE FROM logins WHERE account_id = :account AND secret_sha256 = :digest"
    tx.run(sql, access, digest=secret_sha256)


def answer_given(tx: Tx, access: Access, key: str, since: int) -> Row | None:
    """Return (request digest, status, body) of the answer given under an idempotency key since a moment."""
    sql = (
        "SELECT request_sha256, status, body FROM answers WHERE account_id = :account AND actor_id = :actor "
        "AND idempotency_key = :key AND answered_at > :since"
    )
    return tx.one(sql, access, actor=access.actor_id, key=key, since=since)


def keep_answer(
    tx: Tx, access: Access, key: str, request_sha256: str, status: int, body: str, *, replaces_before: int
) -> bool:
    """Keep an answer, replacing one given before a moment; False if there is a later one, which stays."""
    sql = (
        "INSERT INTO answers (account_id, actor_id, idempotency_key, request_sha256, status, body, answered_at) "
        "VALUES (:account, :actor, :key, :request_sha256, :status, :body, :now) "
        "ON CONFLICT (account_id, actor_id, idempotency_key) DO UPDATE SET request_sha256 = excluded.request_sha256, "
        "status = excluded.status, body = excluded.body, answered_at = excluded.answered_at "
        "WHERE answers.answered_at < :replaces_before"
    )
    answer = {"request_sha256": request_sha256, "status": status, "body": body, "replaces_before": replaces_before}
    return tx.run(sql, access, actor=access.actor_id, key=key, now=tx.now, **answer) > 0


def prune_answers(tx: Tx, access: Access, before: int) -> int:
    """Delete answers older than a moment."""
    return tx.run("DELETE FROM answers WHERE account_id = :account AND answered_at < :before", access, before=before)
