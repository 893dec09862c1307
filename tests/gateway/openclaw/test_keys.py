"""The keys of lanes at OpenClaw: taken by it, known as ours, and different where addresses are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from carrel.gateway.openclaw_gateway import key_at_gateway
from carrel.kernel import Echoes, SessionKey
from carrel.wire import Wire
from tests.gateway.dialects import step, user
from tests.gateway.openclaw.test_dialect import answered
from tests.scripted_gateway import text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.kinds("openclaw")


def address_of(key: str) -> str:
    """Return the address that a key was made of: nothing of it is lost."""
    found = re.fullmatch(r"agent:[^:]+:carrel:([^:]+)", key)
    assert found is not None, key
    return "agent:" + re.sub(r"\^([a-z])", lambda small: small[1].upper(), found[1]).replace("~", ":")


@pytest.mark.parametrize(
    "rest", ["main", "subagent:1", "cron:job", "task:T-1", "slack:channel:C1:thread:x", "node-acp"]
)
async def test_every_lane_has_a_key_that_is_taken_and_known_as_ours(
    gateway: ScriptedOpenClaw, wire: Wire, rest: str
) -> None:
    address = f"{SessionKey.of('writer', rest)}:v3@acme"
    gateway.script(text("ok"))
    await answered(gateway, wire, structs.replace(step([user("hello")]), address=address))
    (key,) = gateway.sessions
    assert (gateway.refusals, key.startswith("agent:main:carrel:")) == ([], True)
    assert (address_of(key), Echoes.is_session(key)) == (address, True)


@given(st.from_regex(r"agent:[a-z]{1,5}:task:[A-Za-z0-9_.@-]{1,20}:v[1-9]", fullmatch=True))
def test_keys_differ_where_addresses_do_even_in_small_letters(address: str) -> None:
    key = key_at_gateway(address, "main")
    assert (key, address_of(key)) == (key.lower(), address)


@pytest.mark.parametrize(
    ("agents", "mapped", "asked_by", "model", "answers"),
    [
        (("main", "ops", "writer"), ("writer=ops",), "writer", "m", "ops"),
        (("main", "ops", "writer"), (), "writer", "openclaw/ops", "writer"),
        (("main", "ops", "writer"), (), "reader", "openclaw/ops", "ops"),
        (("ops", "main"), (), "reader", "m", "main"),
        (("ops", "clerk"), (), "", "openclaw/default", "ops"),
    ],
    ids=["mapped", "the same id", "named by the model", "the main one", "any"],
)
async def test_one_agent_of_openclaw_is_named_in_the_request_and_in_its_key(
    wire: Wire, agents: tuple[str, ...], mapped: tuple[str, ...], asked_by: str, model: str, answers: str
) -> None:
    with ScriptedOpenClaw(agents=agents) as gateway:
        gateway.script(text("ok"))
        await answered(gateway, wire, structs.replace(step(model=model), agent_id=asked_by), agents=mapped)
        (request,) = gateway.requests
        named = request.headers["x-openclaw-agent-id"], request.headers["x-openclaw-session-key"].split(":")[:2]
    assert named == (answers, ["agent", answers])
