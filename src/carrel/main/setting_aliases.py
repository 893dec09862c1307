"""Settings under the names that other systems gave them. Our own names win."""

from collections.abc import Callable, Iterator, Mapping

from carrel.main.setting_names import Name, known_names, read_text


def aliased_settings(env: Mapping[str, str], problems: list[str]) -> Iterator[tuple[str, Name, object]]:
    """Yield (variable, our name, value) of settings under other names; a value that cannot be read is a problem.

    The value is None for a setting that has no counterpart here.
    """
    for variable, (dotted, read) in _ALIASES.items():
        if variable not in env:
            continue
        name = tuple(dotted.split("."))
        try:
            yield variable, name, read(env[variable]) if read else read_text(env[variable], known_names()[name])
        except ValueError as form:
            problems.append(f"{variable}: must be {form}, not {env[variable]!r}.")


def _truth(text: str) -> object:
    answer = read_text(text, known_names()[("sessions", "task_scoped")])
    if not isinstance(answer, bool):
        raise ValueError("true or false")
    return answer


def _milliseconds(text: str) -> object:
    try:
        return round(float(text) * 1000)
    except (ValueError, OverflowError):
        raise ValueError("a number of seconds") from None


def _list(text: str) -> object:
    return [part.strip() for part in text.split(",") if part.strip()]


# Their name in Carrel, and how they are read if not as ours.
_ALIASES: dict[str, tuple[str, Callable[[str], object] | None]] = {
    "OPENCLAW_DELIVERY_INSTRUCTIONS_V2": ("delivery.instructions", lambda text: "v2" if _truth(text) else "inline"),
    "OPENCLAW_TASK_SCOPED_SESSIONS": ("sessions.task_scoped", _truth),
    "CLAWBOARD_LOGGER_CONTEXT_MODE": ("context.mode", None),
    "CLAWBOARD_LOGGER_CONTEXT_MAX_CHARS": ("context.max_chars", None),
    "CLAWBOARD_LOGGER_CONTEXT_FETCH_TIMEOUT_MS": ("context.fetch_timeout_ms", None),
    "CLAWBOARD_LOGGER_IGNORE_SESSION_PREFIXES": ("intake.ignore_session_prefixes", _list),
    "CLAWBOARD_SEARCH_CONCURRENCY_LIMIT": ("search.concurrency", None),
    "CLAWBOARD_SEARCH_CONCURRENCY_WAIT_SECONDS": ("search.concurrency_wait_ms", _milliseconds),
    "CLAWBOARD_SEARCH_INCLUDE_TOOL_CALL_LOGS": ("search.include_tool_call_logs", _truth),
    "CLAWBOARD_SEARCH_SINGLE_TOKEN_WINDOW_MAX_LOGS": ("search.single_token_window_max", None),
    # There the number of candidates follows from the number of results, between two bounds; here it is one figure.
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MAX": ("search.source_topk", None),
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MIN": ("search.source_topk", lambda _: None),
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MULTIPLIER": ("search.source_topk", lambda _: None),
    "CLAWBOARD_SEARCH_EMBED_QUERY_CACHE_SIZE": ("search.query_cache_size", None),
    "CLAWBOARD_RERANK_CHUNKS_PER_DOC": ("search.rerank_chunks_per_doc", None),
}
