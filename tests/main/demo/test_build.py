"""`carrel demo`: a world that is the same whenever it is built, with everything in it that pages show."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from carrel.access import owner_of_default
from carrel.kernel import MS_PER_DAY, Access
from carrel.kernel.limits import LIST_ROWS_MAX, TASK_LIST_ROWS_MAX
from carrel.main.assembly import open_store
from carrel.main.demo.build import build_demo
from carrel.main.demo.world import Size
from carrel.main.settings import LoadedSettings, load
from carrel.memory import memories_listed
from carrel.monitoring import RunFilter, runs_newest_first, titles_of_runs
from carrel.sessions import LaneFilter, lane_rows, titles_of
from carrel.storage import Tx
from carrel.usage import UsageFilter, report_usage
from carrel.work import TaskFilter, list_tasks

NOW = 1_790_000_000_000
SMALL = Size(tasks=60, lines=120)
World = dict[str, Any]


def settings(folder: Path) -> LoadedSettings:
    (folder / "carrel.toml").write_text('[classifier]\nmode = "off"\n')
    return load(folder / "carrel.toml", {}, {"storage.data_dir": str(folder)})


def built(folder: Path, days: int = 17) -> World:
    """Build a small world and return what is in it, without the ids that secrets have a part in."""
    folder.mkdir()
    asyncio.run(build_demo(lambda: settings(folder), NOW, days=days, size=SMALL))

    async def read() -> World:
        db = open_store(f"sqlite:///{folder / 'carrel.db'}")
        try:
            return await db.read(lambda tx: seen(tx, owner_of_default(tx)))
        finally:
            await db.close()

    return asyncio.run(read())


def seen(tx: Tx, owner: Access) -> World:
    tasks = list_tasks(tx, owner, TaskFilter(include_archived=True), limit=TASK_LIST_ROWS_MAX)
    runs = runs_newest_first(tx, owner, RunFilter(), before=None, limit=LIST_ROWS_MAX)
    lanes = lane_rows(tx, owner, LaneFilter(), before=None, limit=LIST_ROWS_MAX)
    titles, names = titles_of_runs(tx, owner, runs), titles_of(tx, owner, [row.lane.key for row in lanes])
    used = report_usage(tx, owner, UsageFilter(since=0, until=NOW), ("day", "agent"), {})
    known = memories_listed(tx, owner, [("global", "")], kind=None, before=None, limit=50)
    return {
        "tasks": [(task.id, task.title, task.status, task.sort_index, task.created_at) for task in tasks],
        "runs": [(run.id, run.state, run.waiting_for, run.reply, titles[run.id].title) for run in runs],
        "lanes": [(row.lane.key, names[row.lane.key].title, row.lane.updated_at) for row in lanes],
        "memory": [one.content for one in known],
        "usage": used,
    }


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> World:
    return built(tmp_path_factory.mktemp("demo") / "one")


def test_two_builds_give_the_same_world(demo: World, tmp_path: Path) -> None:
    assert built(tmp_path / "two") == demo


def test_the_world_has_what_waits_for_people_and_what_failed(demo: World) -> None:
    states = Counter((state, waits) for _, state, waits, _, _ in demo["runs"])
    assert states["waiting", "input"] >= 4
    assert states["waiting", "approval"] == 2
    assert states["failed", None] >= 3
    assert {status for _, _, status, _, _ in demo["tasks"]} == {
        "inbox", "assigned", "in_progress", "review", "blocked", "done", "archived",
    }  # fmt: skip
    assert demo["usage"].total.input_tokens > 0
    assert demo["memory"]


def test_the_help_desk_is_at_work_until_the_last_day(demo: World) -> None:
    (desk,) = [at for key, _, at in demo["lanes"] if key == "agent:support:web:the-help-desk"]
    assert desk > NOW - 2 * MS_PER_DAY


def test_every_title_in_the_world_is_for_people(demo: World) -> None:
    titles = [title for _, title, _ in demo["lanes"]] + [row[-1] for row in demo["runs"]]
    assert "Help desk" in titles
    assert not [title for title in titles if not title or "_01" in title or "agent:" in title]
