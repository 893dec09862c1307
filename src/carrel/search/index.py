"""Writing the index: documents are put and removed in the transaction of whatever changes them."""

from carrel.kernel import Access
from carrel.search import store
from carrel.search.model import Document, DocumentKind
from carrel.search.store import Stored
from carrel.search.vectors import NO_VECTORS, Vectors
from carrel.search.words import date_words, distinct_words, words_of
from carrel.storage import Tx


def put_document(tx: Tx, access: Access, document: Document, vectors: Vectors = NO_VECTORS) -> None:
    """Index a document, in place of an earlier one of its kind and id; without vectors it is found by words alone."""
    said = list(words_of(f"{document.label} {document.text}"))
    reach, places = document.reach(access.account_id), document.places(access.account_id)
    speaker = distinct_words(words_of(document.speaker))
    own = distinct_words((*said, *speaker, *date_words(document.at)))
    stored = Stored(
        kind=document.kind,
        id=document.id,
        at=document.at,
        reach=" ".join(reach),
        places=" ".join(places),
        speaker=" ".join(speaker),
        session_key=document.session_key,
        sequence=document.sequence,
        length=len(said),
        is_question=int(document.text.rstrip().endswith("?")),
        model=vectors.model,
        codes=vectors.codes,
        label=" ".join(distinct_words(words_of(document.label))),
        terms=" ".join((*reach, *places, *own)),
        vectors=vectors.quantized,
    )
    store.write_document(tx, access, stored)


def remove_document(tx: Tx, access: Access, kind: DocumentKind, document_id: str) -> bool:
    """Remove a document from the index; False when it is not there."""
    return store.delete_documents(tx, access, kind, (document_id,)) > 0
