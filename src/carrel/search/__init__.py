"""Search over topics, tasks, entries and notes: by words and by meaning, within what the caller may see."""

from carrel.search.embedders import embedder_for
from carrel.search.finder import Search
from carrel.search.indexing import (
    Indexing,
    Rebuilds,
    Subject,
    SubjectKind,
    index_lag,
    observe_entries,
    request_rebuild,
)
from carrel.search.model import Document, FoundOf, Hit, HitReason, Query, SearchMode, SearchQuery, SearchResult
from carrel.search.similarity import Similarity
from carrel.search.store import has_kept_documents
from carrel.search.vectors import Floats
from carrel.search.words import STOP_WORDS, positions_of, query_words, words_of

__all__ = [
    "STOP_WORDS", "Document", "Floats", "FoundOf", "Hit", "HitReason", "Indexing", "Query", "Rebuilds", "Search",
    "SearchMode", "SearchQuery", "SearchResult", "Similarity", "Subject", "SubjectKind", "embedder_for",
    "has_kept_documents", "index_lag", "observe_entries", "positions_of", "query_words", "request_rebuild", "words_of",
]  # fmt: skip
