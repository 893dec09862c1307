"""The key of a gateway comes from its setting, an environment variable, or a file that only its owner can read."""

import os
from pathlib import Path

import pytest

from carrel.gateway import gateway_key, open_gateway
from carrel.kernel.limits import API_KEY_BYTES_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.gateway.dialects import take
from tests.scripted_gateway import ScriptedGateway, text

pytestmark = pytest.mark.kinds("chat")

KEY = "gw-key-0123456789"


def key_of(env: dict[str, str] | None = None, **settings: str) -> str:
    return gateway_key("main", GatewaySettings(**settings), env or {})  # type: ignore[arg-type]


def refusal_of(env: dict[str, str] | None = None, **settings: str) -> str:
    with pytest.raises(ValueError, match=r"^gateway\.main\.") as caught:
        key_of(env, **settings)
    return str(caught.value)


def kept(folder: Path, content: bytes = KEY.encode() + b"\n", mode: int = 0o600) -> str:
    path = folder / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("given", ["api_key", "api_key_env", "api_key_file"])
async def test_the_key_is_sent_wherever_it_comes_from(
    gateway: ScriptedGateway, wire: Wire, tmp_path: Path, given: str
) -> None:
    value = {"api_key": KEY, "api_key_env": "MY_KEY", "api_key_file": kept(tmp_path)}[given]
    settings = GatewaySettings(kind="chat", base_url=gateway.base_url, **{given: value})  # type: ignore[arg-type]
    gateway.script(text("Yes."))
    await take(open_gateway("main", settings, wire, {"MY_KEY": KEY}))
    assert gateway.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_there_is_none() -> None:
    assert key_of() == ""


def test_a_variable_that_is_not_set_is_named() -> None:
    for env in ({}, {"MY_KEY": " "}):
        assert "MY_KEY, which is not set" in refusal_of(env, api_key_env="MY_KEY")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o601])
def test_a_file_that_others_may_read_or_change_is_refused_with_the_command_that_helps(
    tmp_path: Path, mode: int
) -> None:
    path = kept(tmp_path, mode=mode)
    refused = refusal_of(api_key_file=path)
    assert f"chmod 600 {path}" in refused
    assert KEY not in refused


def test_a_private_file_is_read_also_by_its_name_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kept(tmp_path, mode=0o400)
    assert key_of(api_key_file="~/key") == KEY


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "it is empty"), (b" \n", "it is empty"), (b"a" * (API_KEY_BYTES_MAX + 1), "which no key has")],
)
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    assert why in refusal_of(api_key_file=kept(tmp_path, content))


def test_what_is_not_there_or_not_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "No such file" in refusal_of(api_key_file=str(tmp_path / "none"))
    assert "it is not a file" in refusal_of(api_key_file=str(tmp_path / "pipe"))
    refusal_of(api_key_file=str(tmp_path))


async def test_a_key_that_is_no_header_is_refused_without_being_shown(wire: Wire, tmp_path: Path) -> None:
    path = kept(tmp_path, b"two\nlines")
    settings = GatewaySettings(kind="anthropic", base_url="http://127.0.0.1:9", api_key_file=path)
    with pytest.raises(ValueError, match="not allowed in an HTTP header") as caught:
        open_gateway("main", settings, wire, {})
    assert "lines" not in str(caught.value)
