"""Writing the index: documents are written and removed in the transaction of the change to them."""

from carrel.kernel import Access
from carrel.search import store
from carrel.search.model import KEPT, Document, DocumentKind
from carrel.search.store import Stored
from carrel.search.vectors import NO_VECTORS, Vectors
from carrel.search.words import date_words, distinct_words, words_of
from carrel.storage import Tx
from carrel.visibility import is_mark


def put_document(tx: Tx, access: Access, document: Document, vectors: Vectors = NO_VECTORS) -> None:
    """Index a document, replacing the earlier one with its kind and id; without vectors, only words find it."""
    reach, places = document.reach(access.account_id), document.places(access.account_id)
    kept = () if document.kind == "log" else (KEPT,)
    said, speaker = _said(document), words_of(document.speaker)
    stored = Stored(
        kind=document.kind,
        id=document.id,
        at=document.at,
        reach=" ".join(reach),
        places=" ".join(places),
        speaker=" ".join(distinct_words(speaker)),
        session_key=document.session_key,
        sequence=document.sequence,
        length=len(said),
        is_question=int(document.text.rstrip().endswith("?")),
        model=vectors.model,
        codes=vectors.codes,
        label=" ".join(distinct_words(words_of(document.label))),
        terms=" ".join((*reach, *places, *kept, *_own_terms(document, said, speaker))),
        vectors=vectors.quantized,
    )
    store.write_document(tx, access, stored)


def _said(document: Document) -> list[str]:
    return words_of(f"{document.label} {document.text}")


def _own_terms(document: Document, said: list[str], speaker: list[str]) -> tuple[str, ...]:
    return distinct_words((*said, *speaker, *date_words(document.at)))


def has_words_of(stored: Stored, document: Document) -> bool:
    """Return whether a stored document has the same words as this one, so that its vectors can be reused."""
    said = _said(document)
    if stored.length != len(said):
        return False
    own = tuple(term for term in stored.terms.split() if not is_mark(term))
    return own == _own_terms(document, said, words_of(document.speaker))


def marks_text(access: Access, document: Document | None) -> str:
    """Return the marks of a document as they are stored, empty for none."""
    if document is None:
        return ""
    return " ".join((" ".join(document.reach(access.account_id)), " ".join(document.places(access.account_id))))


def remove_document(tx: Tx, access: Access, kind: DocumentKind, document_id: str) -> bool:
    """Remove a document from the index; False if it is not there."""
    return store.delete_documents(tx, access, kind, (document_id,)) > 0
