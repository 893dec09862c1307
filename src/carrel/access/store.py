"""The SQL of accounts, users, tokens, logins and answers."""

from typing import Any

import msgspec
from msgspec import Struct

from carrel.access.model import Account, NewToken, Token, User
from carrel.kernel import Access
from carrel.storage import Row, Tx

_ACCOUNT = "id, slug, name, settings, created_at"
_USER = "id, slug, name, email, role, created_at"
_TOKEN = "id, kind, name, agent_id, user_id, agent_ids, space_ids, created_at, last_used_at, expires_at"  # noqa: S105
_BEARER = (
    "a.id, a.slug, t.kind, t.id, t.name, t.agent_id, t.user_id, t.run_id, t.agent_ids, t.space_ids, t.last_used_at, "
    "u.name, g.enabled, r.state"
)
_names = msgspec.json.Decoder(tuple[str, ...]).decode
_json = msgspec.json.Decoder(dict[str, Any]).decode


class Bearer(Struct, frozen=True):
    """Whom a secret belongs to, and whether agent and run behind it still stand."""

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
    user_name: str | None
    agent_enabled: int | None
    run_state: str | None


_JOINS = (
    "JOIN accounts a ON a.id = t.account_id "
    "LEFT JOIN users u ON u.account_id = t.account_id AND u.id = t.user_id "
    "LEFT JOIN agents g ON g.account_id = t.account_id AND g.id = t.agent_id "
    "LEFT JOIN runs r ON r.account_id = t.account_id AND r.id = t.run_id "
)


def bearer_of_token(tx: Tx, secret_sha256: str) -> Bearer | None:
    """Who holds a live token with that digest, in whatever account."""
    row = tx.one(
        f"SELECT {_BEARER} FROM tokens t {_JOINS} WHERE t.secret_sha256 = :digest AND t.revoked_at IS NULL "
        "AND (t.expires_at IS NULL OR t.expires_at > :now)",
        digest=secret_sha256,
        now=tx.now,
    )
    return None if row is None else Bearer(*row)


def bearer_of_login(tx: Tx, secret_sha256: str) -> Bearer | None:
    """Who is signed in by a cookie with that digest; its token must still be alive."""
    row = tx.one(
        f"SELECT {_BEARER} FROM logins l JOIN tokens t ON t.account_id = l.account_id AND t.id = l.token_id {_JOINS} "
        "WHERE l.secret_sha256 = :digest AND l.expires_at > :now AND t.revoked_at IS NULL "
        "AND (t.expires_at IS NULL OR t.expires_at > :now)",
        digest=secret_sha256,
        now=tx.now,
    )
    return None if row is None else Bearer(*row)


def account_by_slug(tx: Tx, slug: str) -> Account | None:
    """An account by its slug; for the start of the server, which belongs to no account."""
    row = tx.one(f"SELECT {_ACCOUNT} FROM accounts WHERE slug = :slug", slug=slug)
    return None if row is None else _account(row)


def every_account(tx: Tx) -> list[Account]:
    """All accounts; for the house's own duties and the owner of the default account."""
    return [_account(row) for row in tx.all(f"SELECT {_ACCOUNT} FROM accounts ORDER BY created_at, id")]


def insert_account(tx: Tx, account: Account) -> bool:
    """Write a new account; False when its slug is taken."""
    return bool(
        tx.run(
            "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES (:id, :slug, :name, "
            ":settings, :created_at) "
            "ON CONFLICT DO NOTHING",
            id=account.id,
            slug=account.slug,
            name=account.name,
            settings=_text(account.settings),
            created_at=account.created_at,
        )
    )


def account_of(tx: Tx, access: Access) -> Account:
    """The asker's own account."""
    return _own(tx, access, "")


def hold_account(tx: Tx, access: Access) -> Account:
    """The asker's own account, held until the end of the transaction against others who change it."""
    return _own(tx, access, "FOR NO KEY UPDATE")


def _own(tx: Tx, access: Access, lock: str) -> Account:
    row = tx.one(f"SELECT {_ACCOUNT} FROM accounts WHERE id = :account {lock}", account=access.account_id)
    assert row is not None, "an account is never deleted"
    return _account(row)


def update_account(tx: Tx, access: Access, name: str, settings: dict[str, Any]) -> None:
    """Change the asker's own account."""
    tx.run(
        "UPDATE accounts SET name = :name, settings = :settings WHERE id = :account",
        account=access.account_id,
        name=name,
        settings=_text(settings),
    )


def every_user(tx: Tx, access: Access) -> list[User]:
    """The account's people."""
    rows = tx.all(
        f"SELECT {_USER} FROM users WHERE account_id = :account ORDER BY created_at, id", account=access.account_id
    )
    return [User(**dict(zip(User.__struct_fields__, row, strict=True))) for row in rows]


def user_by_id(tx: Tx, access: Access, user_id: str) -> User | None:
    """One person."""
    return next((user for user in every_user(tx, access) if user.id == user_id), None)


def insert_user(tx: Tx, access: Access, user: User) -> bool:
    """Write a new person; False when the slug is taken."""
    return bool(
        tx.run(
            "INSERT INTO users (account_id, id, slug, name, email, role, created_at) "
            "VALUES (:account, :id, :slug, :name, :email, :role, :created_at) ON CONFLICT DO NOTHING",
            account=access.account_id,
            **_fields(user),
        )
    )


def update_user(tx: Tx, access: Access, user: User) -> None:
    """Change a person's name, slug, address or role."""
    tx.run(
        "UPDATE users SET slug = :slug, name = :name, email = :email, role = :role WHERE account_id "
        "= :account AND id = :id",
        account=access.account_id,
        id=user.id,
        slug=user.slug,
        name=user.name,
        email=user.email,
        role=user.role,
    )


def slug_taken(tx: Tx, access: Access, slug: str, but: str) -> bool:
    """True when another person of the account bears that slug."""
    row = tx.one(
        "SELECT 1 FROM users WHERE account_id = :account AND slug = :slug AND id <> :but",
        account=access.account_id,
        slug=slug,
        but=but,
    )
    return row is not None


def delete_user(tx: Tx, access: Access, user_id: str) -> bool:
    """Remove a person with every token and login that stood for them."""
    values = {"account": access.account_id, "id": user_id}
    tokens_of = "SELECT id FROM tokens WHERE account_id = :account AND user_id = :id"
    tx.run(f"DELETE FROM logins WHERE account_id = :account AND token_id IN ({tokens_of})", **values)
    tx.run("DELETE FROM tokens WHERE account_id = :account AND user_id = :id", **values)
    return bool(tx.run("DELETE FROM users WHERE account_id = :account AND id = :id", **values))


def insert_token(tx: Tx, access: Access, token_id: str, new: NewToken, secret_sha256: str) -> Token:
    """Write a new token."""
    tx.run(
        "INSERT INTO tokens (account_id, id, kind, name, secret_sha256, agent_id, user_id, run_id, "
        "agent_ids, space_ids, "
        "created_at, expires_at) VALUES (:account, :id, :kind, :name, :digest, :agent_id, :user_id, "
        ":run_id, :agent_ids, "
        ":space_ids, :now, :expires_at)",
        account=access.account_id,
        id=token_id,
        kind=new.kind,
        name=new.name,
        digest=secret_sha256,
        agent_id=new.agent_id,
        user_id=new.user_id,
        run_id=new.run_id,
        agent_ids=_text(new.agent_ids),
        space_ids=_text(new.space_ids),
        now=tx.now,
        expires_at=new.expires_at,
    )
    found = token_by_id(tx, access, token_id)
    assert found is not None
    return found


def token_by_id(tx: Tx, access: Access, token_id: str) -> Token | None:
    """One live token."""
    row = tx.one(
        f"SELECT {_TOKEN} FROM tokens WHERE account_id = :account AND id = :id AND revoked_at IS NULL",
        account=access.account_id,
        id=token_id,
    )
    return None if row is None else _token(row)


def live_tokens(tx: Tx, access: Access, *, after: str, limit: int) -> list[Token]:
    """The account's live tokens behind an id; a run's own are none of a person's business."""
    rows = tx.all(
        f"SELECT {_TOKEN} FROM tokens WHERE account_id = :account AND revoked_at IS NULL AND kind <> "
        "'run' AND id > :after "
        "ORDER BY id LIMIT :limit",
        account=access.account_id,
        after=after,
        limit=limit,
    )
    return [_token(row) for row in rows]


def other_owner_tokens(tx: Tx, access: Access, token_id: str) -> int:
    """How many owner tokens the account has besides one; all of them are held until the end of the transaction."""
    rows = tx.all(
        "SELECT id FROM tokens WHERE account_id = :account AND kind = 'owner' AND revoked_at IS NULL "
        "AND (expires_at IS NULL OR expires_at > :now) ORDER BY id FOR UPDATE",
        account=access.account_id,
        now=tx.now,
    )
    return sum(row[0] != token_id for row in rows)


def revoke_token(tx: Tx, access: Access, token_id: str) -> bool:
    """End a token and every login that stood for it."""
    values = {"account": access.account_id, "id": token_id}
    tx.run("DELETE FROM logins WHERE account_id = :account AND token_id = :id", **values)
    return bool(
        tx.run(
            "UPDATE tokens SET revoked_at = :now WHERE account_id = :account AND id = :id AND revoked_at IS NULL",
            now=tx.now,
            **values,
        )
    )


def delete_run_tokens(tx: Tx, access: Access, run_id: str) -> None:
    """Forget every token of a run."""
    tx.run(
        "DELETE FROM tokens WHERE account_id = :account AND run_id = :run_id", account=access.account_id, run_id=run_id
    )


def prune_run_tokens(tx: Tx, access: Access, *, limit: int) -> int:
    """Forget tokens of runs that have ended, a handful at a go; nobody was let in by them any more."""
    return tx.run(
        "DELETE FROM tokens WHERE account_id = :account AND id IN (SELECT t.id FROM tokens t JOIN runs r "
        "ON r.account_id = t.account_id AND r.id = t.run_id WHERE t.account_id = :account AND t.run_id IS NOT NULL "
        "AND r.ended_at IS NOT NULL LIMIT :limit)",
        account=access.account_id,
        limit=limit,
    )


def touch_token(tx: Tx, access: Access, token_id: str) -> None:
    """Remember that a token was used."""
    tx.run(
        "UPDATE tokens SET last_used_at = :now WHERE account_id = :account AND id = :id",
        account=access.account_id,
        id=token_id,
        now=tx.now,
    )


def insert_login(tx: Tx, access: Access, token_id: str, secret_sha256: str, expires_at: int) -> None:
    """Remember a browser's sign-in."""
    values = {"account": access.account_id, "now": tx.now}
    tx.run("DELETE FROM logins WHERE account_id = :account AND expires_at <= :now", **values)
    tx.run(
        "INSERT INTO logins (account_id, id, secret_sha256, token_id, created_at, expires_at) "
        "VALUES (:account, :id, :digest, :token_id, :now, :expires_at)",
        account=access.account_id,
        id=tx.new_id("login"),
        digest=secret_sha256,
        token_id=token_id,
        now=tx.now,
        expires_at=expires_at,
    )


def delete_login(tx: Tx, access: Access, secret_sha256: str) -> None:
    """End a browser's sign-in."""
    tx.run(
        "DELETE FROM logins WHERE account_id = :account AND secret_sha256 = :digest",
        account=access.account_id,
        digest=secret_sha256,
    )


def answer_given(tx: Tx, access: Access, key: str, since: int) -> Row | None:
    """(request digest, status, body) of what was answered under an idempotency key since a moment."""
    return tx.one(
        "SELECT request_sha256, status, body FROM answers WHERE account_id = :account AND actor_id = :actor "
        "AND idempotency_key = :key AND answered_at > :since",
        account=access.account_id,
        actor=access.actor_id,
        key=key,
        since=since,
    )


def keep_answer(
    tx: Tx, access: Access, key: str, request_sha256: str, status: int, body: str, *, replaces_before: int
) -> bool:
    """Remember an answer in place of one given before a moment; False when there is a later one, which stays."""
    kept = tx.run(
        "INSERT INTO answers (account_id, actor_id, idempotency_key, request_sha256, status, body, answered_at) "
        "VALUES (:account, :actor, :key, :request_sha256, :status, :body, :now) "
        "ON CONFLICT (account_id, actor_id, idempotency_key) DO UPDATE SET request_sha256 = excluded.request_sha256, "
        "status = excluded.status, body = excluded.body, answered_at = excluded.answered_at "
        "WHERE answers.answered_at < :replaces_before",
        account=access.account_id,
        actor=access.actor_id,
        key=key,
        request_sha256=request_sha256,
        status=status,
        body=body,
        now=tx.now,
        replaces_before=replaces_before,
    )
    return kept > 0


def prune_answers(tx: Tx, access: Access, before: int) -> int:
    """Forget answers older than a moment."""
    return tx.run(
        "DELETE FROM answers WHERE account_id = :account AND answered_at < :before",
        account=access.account_id,
        before=before,
    )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _fields(value: Struct) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _account(row: Row) -> Account:
    return Account(id=row[0], slug=row[1], name=row[2], settings=_json(row[3]), created_at=row[4])


def _token(row: Row) -> Token:
    fields = dict(zip(Token.__struct_fields__, row, strict=True))
    return Token(**{**fields, "agent_ids": _names(row[5]), "space_ids": _names(row[6])})
