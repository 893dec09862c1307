"""Idempotency keys: a repeated request gets the first answer, which is stored together with what the request did."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from weakref import WeakValueDictionary

from starlette.datastructures import Headers
from starlette.responses import Response

from carrel.access import answer_given, keep_answer
from carrel.kernel import MS_PER_MINUTE, Access, Code, Refusal, invalid, redact
from carrel.kernel.limits import IDEMPOTENCY_KEPT_HOURS, IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENT_SECRETS_MAX
from carrel.storage import Database, Tx

KEPT_MS = IDEMPOTENCY_KEPT_HOURS * 60 * MS_PER_MINUTE
# Stores the answer in the transaction that does the work.
Keep = Callable[[Tx, Response], None]
Work = Callable[[Keep], Awaitable[Response]]
# (account, actor, idempotency key)
Owner = tuple[str, str, str]


class _AnsweredElsewhere(Exception):
    """Another server answered a request with the same idempotency key first."""


def read_key(headers: Headers) -> str | None:
    """Return the idempotency key of a request; None when it has none."""
    key = headers.get("x-idempotency-key")
    if len(headers.getlist("x-idempotency-key")) > 1:
        raise invalid("X-Idempotency-Key", "X-Idempotency-Key was sent twice; send it once.")
    if key is not None and not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX:
        raise invalid("X-Idempotency-Key", f"An idempotency key must have 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters.")
    return key


class IdempotentAnswers:
    """The answers kept under idempotency keys."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._locks: WeakValueDictionary[Owner, asyncio.Lock] = WeakValueDictionary()
        self._secrets: OrderedDict[Owner, bytes] = OrderedDict()

    async def once(self, access: Access, key: str, request: bytes, work: Work, *, secret: bool = False) -> Response:
        """Return the first answer under a key; a different `request` under the same key is refused.

        A `secret` answer is remembered in memory as it is, and stored without its secret.
        """
        digest = sha256(_sight(access) + request).hexdigest()
        lock = self._locks.setdefault(_owner(access, key), asyncio.Lock())
        async with lock:
            return await self._kept(access, key, digest) or await self._answer(access, key, digest, work, secret)

    async def _kept(self, access: Access, key: str, digest: str) -> Response | None:
        kept = await self._db.read(lambda tx: answer_given(tx, access, key, tx.now - KEPT_MS))
        if kept is None:
            return None
        if kept[0] != digest:
            raise Refusal(Code.IDEMPOTENCY_MISMATCH, "This idempotency key was used for a different request.")
        body = self._secrets.get(_owner(access, key), kept[2])
        return Response(body, kept[1], {"Idempotent-Replay": "true"}, "application/json")

    async def _answer(self, access: Access, key: str, digest: str, work: Work, secret: bool) -> Response:
        """Do the work and keep its answer: in the same transaction where `work` calls `keep`, else right after."""
        promised: list[bytes] = []

        def keep(tx: Tx, first: Response) -> None:
            promised[:] = [bytes(first.body)]
            text, before = storable(first), tx.now - KEPT_MS
            if not keep_answer(tx, access, key, digest, first.status_code, text, replaces_before=before):
                raise _AnsweredElsewhere

        def storable(answer: Response) -> str:
            text = bytes(answer.body).decode()
            return redact(text) if secret else text

        try:
            response = await work(keep)
        except (_AnsweredElsewhere, Refusal):
            # Another server may have received the same request at the same time. This attempt was rolled back, or
            # refused because the work was already done.
            kept = await self._kept(access, key, digest)
            if kept is None:
                raise
            return kept
        if secret:
            # In memory for a while, for a client that did not receive it.
            self._secrets[_owner(access, key)] = bytes(response.body)
            if len(self._secrets) > IDEMPOTENT_SECRETS_MAX:
                self._secrets.popitem(last=False)
        if promised == [response.body]:
            return response
        text = storable(response)
        await self._db.write(
            lambda tx: keep_answer(tx, access, key, digest, response.status_code, text, replaces_before=tx.now + 1)
        )
        return response


def _sight(access: Access) -> bytes:
    """Return what differs between callers of one actor who see different things; another's repetition is a mismatch."""
    if access.run_id is None and "*" in access.space_ids:
        return b""
    return f"{access.run_id} {sorted(access.space_ids)}\n".encode()


def _owner(access: Access, key: str) -> Owner:
    return access.account_id, access.actor_id, key
