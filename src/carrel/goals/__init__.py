"""Goals and plans: why, and in what order. `carrel.work` has their tasks.

A goal belongs to one session. Its plans put tasks into an order. Results of runs and tasks update plans and goals, and
start tasks that have become ready.
"""

from carrel.goals.goals import (
    change_goal,
    complete_goal,
    delete_goal,
    find_goal,
    goals_of_session,
    lock_goal,
    make_goal,
    next_open_task,
    pause_goal,
    plan_goal_tasks,
    resume_goal,
    tasks_of_session,
)
from carrel.goals.model import (
    Goal,
    GoalChange,
    GoalFields,
    NewGoal,
    Plan,
    PlanChange,
    PlanContent,
    PlannedTask,
)
from carrel.goals.objectives import Objectives, is_run_of_own_plan, observe_links, plan_positions
from carrel.goals.plans import add_goal_task, approve_plan, draft_plan, end_plan, find_plan, resume_plan, set_plan
from carrel.goals.runner import observe_work, plan_duty
from carrel.goals.shapes import GoalShape, PlanShape, goal_shape, plan_shape
from carrel.goals.store import PlanPosition, goal_of_task, goals_seen, links_of_tasks, plan_of_task, plans_of_session

__all__ = [
    "Goal", "GoalChange", "GoalFields", "GoalShape", "NewGoal", "Objectives", "Plan", "PlanChange", "PlanContent",
    "PlanPosition", "PlanShape", "PlannedTask", "add_goal_task", "approve_plan", "change_goal", "complete_goal",
    "delete_goal", "draft_plan", "end_plan", "find_goal", "find_plan", "goal_of_task", "goal_shape",
    "goals_of_session", "goals_seen", "is_run_of_own_plan", "links_of_tasks", "lock_goal", "make_goal",
    "next_open_task", "observe_links", "observe_work", "pause_goal", "plan_duty", "plan_goal_tasks", "plan_of_task",
    "plan_positions", "plan_shape", "plans_of_session", "resume_goal", "resume_plan", "set_plan", "tasks_of_session",
]  # fmt: skip
