"""What `carrel connect` changes in a settings file, and what it leaves alone."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel import Refusal
from carrel.main.settings_edit import with_gateway

FIELDS = {"kind": "chat", "base_url": "http://127.0.0.1:1234", "model": "m"}
TABLE = '[gateway.default]\nkind = "chat"\nbase_url = "http://127.0.0.1:1234"\nmodel = "m"\n'


def test_a_new_file_has_the_gateway_alone() -> None:
    assert with_gateway("", "default", FIELDS) == TABLE


def test_the_rest_of_a_file_stays_to_the_byte() -> None:
    before = "# mine\n[server]\nport = 9 # nine\n"
    assert with_gateway(before, "default", FIELDS) == f"{before}\n{TABLE}"


def test_a_gateway_that_is_there_keeps_what_is_not_about_its_server() -> None:
    before = (
        '[gateway.default]\nkind = "responses"\napi_key = "old"\ntimeout_seconds = 9\n# mine\n\n[log]\nlevel = "info"\n'
    )
    after = with_gateway(before, "default", FIELDS)
    assert after == f'{TABLE}timeout_seconds = 9\n# mine\n\n[log]\nlevel = "info"\n'
    assert with_gateway(after, "default", FIELDS) == after


@pytest.mark.parametrize(
    "before",
    ['gateway.default.kind = "builtin"\n', '[gateway]\ndefault = { kind = "builtin" }\n', "[gateway.default\n"],
)
def test_a_form_that_cannot_be_changed_safely_is_left_to_its_owner(before: str) -> None:
    with pytest.raises(Refusal, match="by hand"):
        with_gateway(before, "default", FIELDS)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_read_back_as_it_was_given(value: str) -> None:
    written = with_gateway("", "default", FIELDS | {"model": value})
    assert tomllib.loads(written)["gateway"]["default"]["model"] == value
