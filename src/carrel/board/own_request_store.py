"""Our own requests to models: how many recently, and the answers.

A host that records conversations sends both back. A question is recognised by its mark, an answer by its words; neither
is sorted, so that our own work never causes work again.
"""

from hashlib import sha256

from carrel.board.filters import OWN_REQUEST, Verdict
from carrel.journal import Entry, NewEntry
from carrel.kernel import MS_PER_MINUTE, Access
from carrel.kernel.limits import OWN_REQUEST_MINUTES, SHORT_ANSWER_CHARS_MAX, SHORT_ANSWER_MINUTES
from carrel.storage import Tx


def begin_request(tx: Tx, access: Access, request_id: str) -> None:
    """Record that a model is asked, and delete requests that are too old to come back."""
    tx.run("DELETE FROM own_requests WHERE account_id = :account AND asked_at < :since", access, since=_oldest(tx))
    sql = "INSERT INTO own_requests (account_id, id, asked_at) VALUES (:account, :id, :now) ON CONFLICT DO NOTHING"
    tx.run(sql, access, id=request_id, now=tx.now)


def end_request(tx: Tx, access: Access, request_id: str, answer: str) -> None:
    """Record the model's answer, as a digest of its words."""
    words = _words(answer)
    minutes = SHORT_ANSWER_MINUTES if len(words) <= SHORT_ANSWER_CHARS_MAX else OWN_REQUEST_MINUTES
    sql = "UPDATE own_requests SET answer = :answer, known_until = :until WHERE account_id = :account AND id = :id"
    tx.run(sql, access, id=request_id, answer=_digest(words), until=tx.now + minutes * MS_PER_MINUTE)


def requests_of_late(tx: Tx, access: Access) -> int:
    """Return how many requests were made in the last hour."""
    sql = "SELECT count(*) FROM own_requests WHERE account_id = :account AND asked_at >= :since"
    return tx.value(sql, access, since=_oldest(tx)) or 0


def own_verdict(tx: Tx, access: Access, entry: Entry | NewEntry) -> Verdict | None:
    """Return how an entry that a host sent back as the answer to a request is classified; None for any other."""
    if entry.type != "conversation" or entry.run_id is not None:
        return None
    sql = "SELECT 1 FROM own_requests WHERE account_id = :account AND answer = :answer AND known_until >= :now LIMIT 1"
    is_back = tx.one(sql, access, answer=_digest(_words(entry.content)), now=tx.now) is not None
    return OWN_REQUEST if is_back else None


def _oldest(tx: Tx) -> int:
    return tx.now - OWN_REQUEST_MINUTES * MS_PER_MINUTE


def _words(text: str) -> str:
    """Return the letters and digits of a text: hosts change spaces, marks and fences."""
    return "".join(filter(str.isalnum, text.casefold()))


def _digest(words: str) -> str:
    return sha256(words.encode()).hexdigest()
