"""Settings under the names that other systems use. Our own names win."""

from collections.abc import Callable, Iterator, Mapping

from carrel.main.setting_names import Name, known_names, read_text


def foreign_settings(env: Mapping[str, str], problems: list[str]) -> Iterator[tuple[str, Name, object]]:
    """Yield (variable, our name, value) of settings under foreign names; a value that cannot be read is a problem.

    The value is None for a setting that has no counterpart here.
    """
    for variable, (dotted, read) in _SPELLINGS.items():
        if variable not in env:
            continue
        name = tuple(dotted.split("."))
        try:
            yield variable, name, read(env[variable], name)
        except ValueError as form:
            problems.append(f"{variable}: must be {form}, not {env[variable]!r}.")


def _same(text: str, name: Name) -> object:
    return read_text(text, known_names()[name])


def _truth(text: str, _name: Name) -> object:
    answer = _same(text, ("sessions", "task_scoped"))
    if not isinstance(answer, bool):
        raise ValueError("true or false")
    return answer


def _instructions(text: str, name: Name) -> object:
    return "v2" if _truth(text, name) else "inline"


def _seconds(text: str, _name: Name) -> object:
    try:
        return round(float(text) * 1000)
    except (ValueError, OverflowError):
        raise ValueError("a number of seconds") from None


def _list(text: str, _name: Name) -> object:
    return [part.strip() for part in text.split(",") if part.strip()]


_SPELLINGS: dict[str, tuple[str, Callable[[str, Name], object]]] = {
    "OPENCLAW_DELIVERY_INSTRUCTIONS_V2": ("delivery.instructions", _instructions),
    "OPENCLAW_TASK_SCOPED_SESSIONS": ("sessions.task_scoped", _truth),
    "CLAWBOARD_LOGGER_CONTEXT_MODE": ("context.mode", _same),
    "CLAWBOARD_LOGGER_CONTEXT_MAX_CHARS": ("context.max_chars", _same),
    "CLAWBOARD_LOGGER_CONTEXT_FETCH_TIMEOUT_MS": ("context.fetch_timeout_ms", _same),
    "CLAWBOARD_LOGGER_IGNORE_SESSION_PREFIXES": ("intake.ignore_session_prefixes", _list),
    "CLAWBOARD_SEARCH_CONCURRENCY_LIMIT": ("search.concurrency", _same),
    "CLAWBOARD_SEARCH_CONCURRENCY_WAIT_SECONDS": ("search.concurrency_wait_ms", _seconds),
    "CLAWBOARD_SEARCH_INCLUDE_TOOL_CALL_LOGS": ("search.include_tool_call_logs", _truth),
    "CLAWBOARD_SEARCH_SINGLE_TOKEN_WINDOW_MAX_LOGS": ("search.single_token_window_max", _same),
    # There the number of candidates follows from the number of results, between two bounds; here it is one figure.
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MAX": ("search.source_topk", _same),
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MIN": ("search.source_topk", lambda *_: None),
    "CLAWBOARD_SEARCH_SOURCE_TOPK_MULTIPLIER": ("search.source_topk", lambda *_: None),
    "CLAWBOARD_SEARCH_EMBED_QUERY_CACHE_SIZE": ("search.query_cache_size", _same),
    "CLAWBOARD_RERANK_CHUNKS_PER_DOC": ("search.rerank_chunks_per_doc", _same),
}
