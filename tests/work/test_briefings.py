"""The overview of a board for its orchestrator."""

from msgspec import structs

from carrel.work.orchestrator import StatusOverview
from tests.delivery.test_heading import TASK, briefing, heading
from tests.requirements.mark import requirement


@requirement("S0.orch.overview")
def test_an_overview_gives_the_count_and_the_first_tasks_of_each_status() -> None:
    top = tuple(structs.replace(TASK, id=f"task_{number}", title=f"W{number}") for number in range(3))
    statuses = (
        StatusOverview(status="inbox", count=100, top=top),
        StatusOverview(status="review", count=1, top=top[:1]),
        StatusOverview(status="blocked", count=0, top=()),
    )
    shown = heading(briefing(overview=statuses, account_briefing="Be quick.\nBe kind.")).splitlines()
    assert shown[3:-1] == [
        "taskOverview:",
        "- inbox: 100 or more, first task_0 W0 (priority 2); task_1 W1 (priority 2); task_2 W2 (priority 2)",
        "- review: 1, first task_0 W0 (priority 2)",
        "- blocked: 0",
        "What the account's owner tells you:",
        "  Be quick.",
        "  Be kind.",
    ]
