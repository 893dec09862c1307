"""Memory, the board, search and context."""

from typing import Annotated, Literal

from msgspec import Meta

from carrel.kernel.limits import CONTEXT_LINES_MAX, CONTEXT_TEXT_CHARS_DEFAULT, CONTEXT_TEXT_CHARS_MAX
from carrel.kernel.settings.types import Minutes, Seconds, Secret, Section, WebAddress


class MemorySettings(Section, frozen=True, kw_only=True):
    """The most a run is shown of the kept facts of its scopes (0 items: none), and what is kept of turns."""

    recall_items_max: Annotated[int, Meta(ge=0, le=100)] = 12
    recall_chars_max: Annotated[int, Meta(ge=200, le=100_000)] = 1_200
    extraction: Literal["off", "rules", "model"] = "rules"


class SearchEndpointSettings(Section, frozen=True, kw_only=True):
    """A server for embeddings, as `POST <base_url>/v1/embeddings`; for `search.embedding = "endpoint"`."""

    base_url: WebAddress = ""
    api_key: Secret = ""
    model: str = ""


class SearchSettings(Section, frozen=True, kw_only=True):
    """How the board is searched: how many searches at a time, what is indexed, and how closely it is compared."""

    concurrency: Annotated[int, Meta(ge=1, le=64)] = 3
    concurrency_wait_ms: Annotated[int, Meta(ge=0, le=60_000)] = 250
    include_tool_call_logs: bool = False
    embedding: Literal["none", "static", "minilm", "endpoint"] = "static"
    endpoint: SearchEndpointSettings = SearchEndpointSettings()
    # Candidates of each kind found by words and by meaning, and for a query of one word.
    source_topk: Annotated[int, Meta(ge=10, le=2_000)] = 200
    single_token_window_max: Annotated[int, Meta(ge=10, le=2_000)] = 360
    # Parts of a long text that are compared separately by meaning.
    rerank_chunks_per_doc: Annotated[int, Meta(ge=1, le=64)] = 6
    # Answers that are cached until the index changes; 0 for none.
    query_cache_size: Annotated[int, Meta(ge=0, le=100_000)] = 256


# Whether what is said in a lane stays there or goes on the board.
Recall = Literal["own", "space"]


class ContextSettings(Section, frozen=True, kw_only=True):
    """The block that is put before a message: whether there is one, how far it looks, its length and time limit."""

    augment: bool = True
    mode: Literal["auto", "cheap", "full", "patient"] = "auto"
    max_chars: Annotated[int, Meta(ge=400, le=CONTEXT_TEXT_CHARS_MAX)] = CONTEXT_TEXT_CHARS_DEFAULT
    fetch_timeout_ms: Annotated[int, Meta(ge=1, le=60_000)] = 1_200
    total_budget_ms: Annotated[int, Meta(ge=1, le=60_000)] = 3_000
    # Whether what is said in a lane stays there (own), or is sorted and recalled within its spaces (space).
    recall: Recall = "own"
    # How far the block of a task lane looks: the task itself, its topic, or everything in its spaces.
    task_lane: Literal["task", "topic", "space"] = "task"
    # Topics, tasks and entries that are recalled, at most.
    topic_limit: Annotated[int, Meta(ge=0, le=CONTEXT_LINES_MAX)] = 3
    task_limit: Annotated[int, Meta(ge=0, le=CONTEXT_LINES_MAX)] = 3
    log_limit: Annotated[int, Meta(ge=0, le=CONTEXT_LINES_MAX)] = 6


class ClassifierSettings(Section, frozen=True, kw_only=True):
    """Who sorts entries into topics and tasks; `auto` asks the default agent's model, if it has one."""

    mode: Literal["off", "rules", "model", "auto"] = "auto"
    interval_seconds: Seconds = 10
    attempts_max: Annotated[int, Meta(ge=1, le=10)] = 3
    # Beyond this many in an hour, rules sort the rest.
    model_calls_per_hour: Annotated[int, Meta(ge=1, le=100_000)] = 240


class DigestsSettings(Section, frozen=True, kw_only=True):
    """Digests of topics and tasks: how often they are renewed, how many at a time, and how long they are."""

    interval_minutes: Minutes = 15
    per_cycle: Annotated[int, Meta(ge=0, le=100)] = 2
    chars_max: Annotated[int, Meta(ge=100, le=20_000)] = 1_800


class IntakeSettings(Section, frozen=True, kw_only=True):
    """What is not recorded on the board."""

    ignore_session_prefixes: tuple[str, ...] = ("internal:clawboard-classifier:",)


class FollowupsSettings(Section, frozen=True, kw_only=True):
    """When delegated work is followed up, in minutes since it was handed over, and when people are notified."""

    ladder_minutes: tuple[Annotated[float, Meta(gt=0, le=525_600)], ...] = (1, 3, 10, 15, 30, 60)
    progress_after_minutes: Minutes = 5
