"""Goals and plans: why, and in what order. `carrel.work` has their tasks.

A goal belongs to one session. Its plans put tasks into an order. Results of runs and tasks update plans and goals, and
start tasks that have become ready.
"""

from carrel.goals.goals import (
    add_goal_task,
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
    replan_goal,
    resume_goal,
    tasks_of_session,
)
from carrel.goals.model import GOAL_MOVES, PLAN_MOVES, Goal, GoalChange, Plan, PlanChange, PlannedTask
from carrel.goals.objective_store import PlanPosition
from carrel.goals.objectives import Objectives, is_run_of_own_plan, observe_links, plan_positions
from carrel.goals.plans import (
    add_tasks,
    approve_plan,
    change_plan,
    draft_plan,
    end_plan,
    find_plan,
    plans_of_session,
    resume_plan,
    set_plan,
    set_planned_status,
)
from carrel.goals.runner import PlanRunner, observe_work
from carrel.goals.shapes import GoalShape, PlanShape, goal_shape, plan_shape
from carrel.goals.store import goal_of_task, goals_seen, links_of_tasks, plan_of_task

__all__ = [
    "GOAL_MOVES", "PLAN_MOVES", "Goal", "GoalChange", "GoalShape", "Objectives", "Plan", "PlanChange", "PlanPosition",
    "PlanRunner", "PlanShape", "PlannedTask", "add_goal_task", "add_tasks", "approve_plan", "change_goal",
    "change_plan", "complete_goal", "delete_goal", "draft_plan", "end_plan", "find_goal", "find_plan", "goal_of_task",
    "goal_shape", "goals_of_session", "goals_seen", "is_run_of_own_plan", "links_of_tasks", "lock_goal", "make_goal",
    "next_open_task", "observe_links", "observe_work", "pause_goal", "plan_goal_tasks", "plan_of_task",
    "plan_positions", "plan_shape", "plans_of_session", "replan_goal", "resume_goal", "resume_plan", "set_plan",
    "set_planned_status", "tasks_of_session",
]  # fmt: skip
