"""Operations on tasks: create, list and read them."""

from collections.abc import Sequence

from carrel.bridge.api.operations import Call, D, Group, operation
from carrel.bridge.api.requests import Request, segment
from carrel.bridge.api.shapes import Item, Page, Task, read, read_page


class Tasks(Group[D]):
    """The tasks that the token may see."""

    @operation
    def create(
        self, title: str, *, description: str = "", topic_id: str | None = None, priority: int | str = 3,
        tags: Sequence[str] = (), assigned_agent_ids: Sequence[str] = (), idempotency_key: str = "",
    ) -> Call[Task]:  # fmt: skip
        """Create a task; with an idempotency key it is safe to do it twice."""
        body: Item = {"title": title, "description": description, "topicId": topic_id, "priority": priority}
        body |= {"tags": list(tags), "assignedAgentIds": list(assigned_agent_ids)}
        answer = yield Request("POST", "/api/tasks", body=body, idempotency_key=idempotency_key)
        return read(Task, answer["task"])

    @operation
    def get(self, task_id: str) -> Call[Task]:
        """Return a task."""
        return read(Task, (yield Request("GET", f"/api/tasks/{segment(task_id)}"))["task"])

    @operation
    def list(
        self, *, status: str | None = None, topic_id: str | None = None, assignee_id: str | None = None,
        limit: int = 100, cursor: str | None = None,
    ) -> Call[Page[Task]]:  # fmt: skip
        """Return tasks, as the board orders them."""
        query = {"status": status, "topicId": topic_id, "assigneeId": assignee_id, "limit": limit, "cursor": cursor}
        return read_page(Task, (yield Request("GET", "/api/tasks", query)), "tasks")
