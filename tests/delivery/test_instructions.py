"""Standing instructions: their wording and their version change together, and they promise only what is offered."""

from hashlib import sha256

from carrel.delivery import PROFILE_VERSION, standing_instructions
from carrel.kernel import SessionKey
from carrel.sessions import Agent, Profile
from carrel.tools import CATALOG
from tests.requirements.mark import requirement

# What each version says, as the hash of two fixed desks' instructions without tools. A change of wording needs a new
# version and a new line here; lines of versions that were released are never changed.
WORDINGS = {"2026-11-1": "8d69f17979d946978242877fda2a3dff2fb6c561404ef6b4af2b8ccea6cdd793"}

AGENT = Agent(
    id="writer",
    slug="writer",
    name="Writer",
    enabled=True,
    profile=Profile(description="Writes\nreports.", instructions_extra="  Be brief. "),
    created_at=0,
    updated_at=0,
)
DESKS = (SessionKey.of("writer", "main"), SessionKey.of("writer", "task:task_1"))


@requirement("S0.instr.version")
def test_the_wording_changes_only_with_its_version() -> None:
    text = "\n\n".join(standing_instructions(AGENT, key, ()).text for key in DESKS)
    assert WORDINGS[PROFILE_VERSION] == sha256(text.encode()).hexdigest(), (
        "the wording changed: give it a new PROFILE_VERSION and enter it here"
    )


def test_the_hash_is_of_the_text_and_equal_input_gives_equal_bytes() -> None:
    one, two = (standing_instructions(AGENT, DESKS[1], CATALOG.offered()) for _ in range(2))
    assert one == two
    assert one.sha256 == sha256(one.text.encode()).hexdigest()
    assert one.version == PROFILE_VERSION


@requirement("S0.instr.capabilities")
def test_capabilities_are_told_from_the_very_list_that_is_offered() -> None:
    offered = CATALOG.offered()[1:]
    text = standing_instructions(AGENT, DESKS[0], offered).text
    told = [line.split()[1] for line in text.splitlines() if line.startswith("- ")]
    assert told == [tool.name for tool in offered]
    assert "no tools" in standing_instructions(AGENT, DESKS[0], ()).text


def test_the_desk_is_named_and_what_the_owner_adds_comes_last() -> None:
    main, task = (standing_instructions(AGENT, key, ()).text for key in DESKS)
    assert main.startswith("You are Writer (agent writer). Writes reports.")
    assert "agent:writer:main" in main
    assert "task task_1" in task
    assert main.endswith("Be brief.")
