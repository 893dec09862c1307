"""Requests under an idempotency key: the first answer is everybody's, kept with what was done."""

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
# Says in a transaction what will be answered, so that it is kept with what is done there.
Keep = Callable[[Tx, Response], None]
Give = Callable[[Keep], Awaitable[Response]]
# (account, actor, idempotency key)
Repeated = tuple[str, str, str]


class _AnsweredElsewhere(Exception):
    """Under the same idempotency key somebody else was quicker."""


def read_key(headers: Headers) -> str | None:
    """The idempotency key of a request, None where it has none."""
    key = headers.get("x-idempotency-key")
    if len(headers.getlist("x-idempotency-key")) > 1:
        raise invalid("X-Idempotency-Key", "X-Idempotency-Key stands twice; send one.")
    if key is not None and not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX:
        raise invalid("X-Idempotency-Key", f"An idempotency key has 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters.")
    return key


class Repeats:
    """What was answered under which key."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._locks: WeakValueDictionary[Repeated, asyncio.Lock] = WeakValueDictionary()
        self._secrets: OrderedDict[Repeated, bytes] = OrderedDict()

    async def once(self, access: Access, key: str, asked: bytes, give: Give, *, secret: bool = False) -> Response:
        """The first answer under a key, whoever repeats it; `asked` is the request, for no other may bear the key.

        A `secret` answer is remembered here as it is and stored without its secret.
        """
        digest = sha256(asked).hexdigest()
        lock = self._locks.setdefault(_owner(access, key), asyncio.Lock())
        async with lock:
            return await self._given(access, key, digest) or await self._give(access, key, digest, give, secret)

    async def _given(self, access: Access, key: str, digest: str) -> Response | None:
        """What was answered under the key before."""
        kept = await self._db.read(lambda tx: answer_given(tx, access, key, tx.now - KEPT_MS))
        if kept is None:
            return None
        if kept[0] != digest:
            raise Refusal(Code.IDEMPOTENCY_MISMATCH, "This idempotency key was used for a different request.")
        body = self._secrets.get(_owner(access, key), kept[2])
        return Response(body, kept[1], {"Idempotent-Replay": "true"}, "application/json")

    async def _give(self, access: Access, key: str, digest: str, give: Give, secret: bool) -> Response:
        """Do what is asked and keep the answer: with what was done where it is promised there, else right after."""
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
            response = await give(keep)
        except (_AnsweredElsewhere, Refusal):
            # Another server may have been asked the same at the same time. What was done here is undone, or was refused
            # because it is done already.
            given = await self._given(access, key, digest)
            if given is None:
                raise
            return given
        if secret:
            self._remember(_owner(access, key), bytes(response.body))
        if promised == [response.body]:
            return response
        text = storable(response)
        await self._db.write(
            lambda tx: keep_answer(tx, access, key, digest, response.status_code, text, replaces_before=tx.now + 1)
        )
        return response

    def _remember(self, owner: Repeated, whole: bytes) -> None:
        """Keep an answer with its secret here for a while, for a sender who did not get it."""
        self._secrets[owner] = whole
        if len(self._secrets) > IDEMPOTENT_SECRETS_MAX:
            self._secrets.popitem(last=False)


def _owner(access: Access, key: str) -> Repeated:
    return access.account_id, access.actor_id, key
