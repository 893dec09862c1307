"""What becomes of auto runs when their server is gone, and while other servers live."""

from carrel.kernel.limits import AUTO_LEASE_SECONDS
from carrel.runs import Completed
from tests.harness.engine import FakeClock
from tests.modes.auto.timeline import CHAT, OTHER, AutoTimeline
from tests.requirements.mark import requirement


def pass_time(line: AutoTimeline, seconds: float) -> None:
    """Move the clock while no server renews a lease."""
    assert isinstance(line.engine.clock, FakeClock)
    line.engine.clock.advance(seconds)


@requirement("S3.auto.norestart")
async def test_the_auto_runs_of_a_server_that_is_gone_are_interrupted_and_their_session_is_told(
    line: AutoTimeline,
) -> None:
    auto = await line.start(CHAT)
    await line.settle()
    line.duty = line.server("server-2")
    pass_time(line, AUTO_LEASE_SECONDS)
    await line.settle()
    ended = await line.now(auto)
    assert (ended.status, ended.reason) == ("interrupted", "server_restarted")
    (notice,) = await line.notices(auto)
    assert notice.startswith(f"The server was restarted, so auto run {auto.id}")
    (tick,) = await line.ticks()
    assert tick.state == "cancelled", "what it had begun is not taken up again"
    await line.later(600)
    assert len(await line.ticks()) == 1


@requirement("S3.auto.norestart")
async def test_a_server_leaves_the_auto_runs_of_a_living_one_alone(line: AutoTimeline) -> None:
    one, two = line.duty, line.server("server-2")
    auto = await line.start(CHAT)
    await line.settle()
    await line.work(Completed(reply="first"))
    line.duty = two
    other = await line.start(OTHER)
    await line.settle()
    await line.work(Completed(reply="other"))
    for _ in range(10):
        pass_time(line, AUTO_LEASE_SECONDS / 2)
        await line.engine.db.write(one._renew)
        await line.engine.db.write(two._renew)
        await line.settle()
    assert [(await line.now(each)).status for each in (auto, other)] == ["active", "active"]
    assert [(await line.now(each)).worker for each in (auto, other)] == ["server-1", "server-2"]
    assert len(await line.ticks(auto)) == 1, "server-1 has it, and has not looked"
    assert len(await line.ticks(other)) == 2
    # Now server-1 is gone, and only its auto run is interrupted.
    await line.later(AUTO_LEASE_SECONDS + 1)
    assert [(await line.now(each)).status for each in (auto, other)] == ["interrupted", "active"]


@requirement("S3.auto.norestart")
async def test_an_auto_run_goes_on_after_a_restart_where_the_settings_say_so(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    await line.work(Completed(reply="before"))
    line.duty = line.server("server-2", resume_on_restart=True)
    pass_time(line, 3600)
    await line.settle()
    resumed = await line.now(auto)
    assert (resumed.status, resumed.worker, resumed.tick_count) == ("active", "server-2", 2)
    assert await line.notices(auto) == []


async def test_an_auto_run_that_was_being_stopped_when_its_server_went_is_stopped(line: AutoTimeline) -> None:
    auto = await line.start()
    await line.settle()
    await line.begin()
    await line.stop()
    line.duty = line.server("server-2", resume_on_restart=True)
    pass_time(line, 3600)
    await line.settle()
    assert ((await line.now(auto)).status, (await line.now(auto)).reason) == ("stopped", "requested")


async def test_an_auto_run_that_no_server_has_taken_is_interrupted_too(line: AutoTimeline) -> None:
    auto = await line.start()
    pass_time(line, AUTO_LEASE_SECONDS)
    await line.settle()
    assert ((await line.now(auto)).status, await line.ticks()) == ("interrupted", [])
