"""Search over topics, tasks, entries and notes: by words and by meaning, within what the caller may see."""

from carrel.search.embedders import Embedder, EmbeddingUnavailable, NoEmbedder, embed_texts, embedder_for
from carrel.search.finder import Search
from carrel.search.index import put_document, remove_document
from carrel.search.indexing import (
    Indexing,
    Rebuilds,
    Subject,
    SubjectKind,
    index_lag,
    observe_entries,
    request_rebuild,
    request_session_rebuild,
)
from carrel.search.model import Document, Found, Hit, Query, SearchMode, SearchQuery
from carrel.search.nearness import Nearness
from carrel.search.rebuild_store import is_rebuilding
from carrel.search.store import has_kept_documents
from carrel.search.vectors import Floats, Vectors
from carrel.search.words import STOP_WORDS, places_of, query_words, words_of

__all__ = [
    "STOP_WORDS", "Document", "Embedder", "EmbeddingUnavailable", "Floats", "Found", "Hit", "Indexing", "Nearness",
    "NoEmbedder", "Query", "Rebuilds", "Search", "SearchMode", "SearchQuery", "Subject", "SubjectKind", "Vectors",
    "embed_texts", "embedder_for", "has_kept_documents", "index_lag", "is_rebuilding", "observe_entries", "places_of",
    "put_document", "query_words", "remove_document", "request_rebuild", "request_session_rebuild", "words_of",
]  # fmt: skip
