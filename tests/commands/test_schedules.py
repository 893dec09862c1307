"""The commands about schedules: of their own session only."""

from msgspec import structs

from carrel.modes import NewSchedule, Schedule, make_schedule
from tests.commands.chat import KEY, Chat


async def test_a_session_lists_and_deletes_its_own_schedules(chat: Chat) -> None:
    async def make(session: str) -> Schedule:
        new = NewSchedule(type="message", message="say\nit", cron="0 9 * * *")
        return await chat.db.write(lambda tx: make_schedule(tx, chat.owner, session, new))

    assert (await chat.type("/schedule list")).reply == "This session has no schedules."
    own, others = await make(str(KEY)), await make("main")
    listed = (await chat.type("/schedule list")).reply
    assert own.id in listed
    assert "0 9 * * * UTC  next 2" in listed
    assert "say it" in listed
    assert others.id not in listed
    assert "another session" in (await chat.type(f"/schedule delete {others.id}")).reply
    assert (await chat.type(f"/schedule delete {own.id}")).reply == f"Deleted {own.id}."
    assert "no such schedule" in (await chat.type(f"/schedule delete {own.id}")).reply
    assert "no such goal" in (await chat.type("/schedule goal goal_1 0 9 * * *")).reply
    assert "no such task" in (await chat.type("/schedule task task_1 0 9 * * * 3")).reply
    for asked in ("/schedule", "/schedule help", "/schedule delete"):
        assert "/schedule delete <id>" in (await chat.type(asked)).reply


async def test_strangers_cannot_see_or_delete_schedules(chat: Chat) -> None:
    new = NewSchedule(type="message", message="secret", cron="0 9 * * *")
    made = await chat.db.write(lambda tx: make_schedule(tx, chat.owner, str(KEY), new))
    stranger = structs.replace(chat.owner, kind="client", actor_id="telegram:7", agent_ids=("main",))
    for asked in ("/schedule list", f"/schedule delete {made.id}"):
        assert "Only the owner" in (await chat.type(asked, stranger)).reply
    assert made.id in (await chat.type("/schedule list")).reply
