"""What a model is sent: how it is weighed, and the budgets that it keeps."""

import pytest

from bench.prompt import (
    BUDGETS,
    HELLO_BYTES_MAX,
    SHARED_MIN,
    TWICE_CHARS_MAX,
    Prompts,
    collect,
    longest_repeated,
    parts_of,
    shared_beginning,
    tokens_in,
)
from tests.requirements.mark import requirement

ID = "task_01kaj3dqdkh90e7n1k6s8ky3v5"


def test_the_longest_text_that_stands_twice_is_found_wherever_it_stands() -> None:
    said = {"role": "user", "content": [{"type": "input_text", "text": "The boats are green, as always."}]}
    answer = {"type": "function_call_output", "output": "He said: the boats are green."}
    assert longest_repeated({"instructions": "Be brief.", "input": [said, answer]}) == "he boats are green"
    assert longest_repeated({"instructions": "Be brief.", "input": "hello"}) == "e", "within one text too"


def test_an_id_may_stand_wherever_it_is_needed() -> None:
    assert longest_repeated({"instructions": f"On {ID}.", "input": f"[{ID}]"}) == ""


def test_requests_share_their_beginning_in_the_order_in_which_providers_cache() -> None:
    one, two = ({"tools": ["abc"], "instructions": "same", "input": last} for last in ("1", "2"))
    # ["abc"] and `same` are 11 characters of 12.
    assert shared_beginning(one, two) == 11 / 12
    assert shared_beginning(one, one) == 1


def test_every_part_of_a_request_is_weighed_as_it_is_sent() -> None:
    body = {"model": "m", "instructions": "Grüße", "input": [{"a": 1}], "tools": []}
    assert parts_of(body) == {"tools": "[]", "instructions": "Grüße", "input": '[{"a":1}]', "rest": '{"model":"m"}'}
    assert 0 < tokens_in("The quarterly report is late.") < 12


@pytest.fixture
async def prompts(sqlite_url: str) -> Prompts:
    """The first request of each kind of run."""
    return await collect(sqlite_url)


@requirement("A.budget", "A.prefix", "A.once")
async def test_what_a_model_is_sent_keeps_its_budgets(prompts: Prompts) -> None:
    for kind, body in prompts.by_kind.items():
        parts, budget = parts_of(body), BUDGETS[kind]
        assert len(parts["tools"].encode()) <= budget.tools, kind
        assert len(parts["instructions"].encode()) <= budget.instructions, kind
        # The context block has its own tests.
        beside = {**body, "input": [item for item in body["input"] if item.get("role") != "developer"]}
        assert len(longest_repeated(beside)) <= TWICE_CHARS_MAX, (kind, longest_repeated(beside))
    assert sum(len(part.encode()) for part in parts_of(prompts.by_kind["hello"]).values()) <= HELLO_BYTES_MAX
    assert shared_beginning(prompts.by_kind["task message"], prompts.other_task) >= SHARED_MIN
