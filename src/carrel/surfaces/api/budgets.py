"""Budgets: what agents may use, set by owners."""

from typing import Annotated

from msgspec import Meta

from carrel.agents import require_agent
from carrel.budgets import (
    Budget,
    BudgetRules,
    BudgetShape,
    Scope,
    allow_once,
    every_budget,
    find_budget,
    parse_scope,
    remove_budget,
    set_budget,
)
from carrel.kernel import Access, Input
from carrel.kernel.settings import CHOSEN_NAME, BudgetAction, BudgetPer
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, Page, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.http.services import Services
from carrel.work import readable_task

Tokens = Annotated[int, Meta(ge=1, le=1_000_000_000_000_000)]
Dollars = Annotated[float, Meta(gt=0, le=1_000_000_000)]
Runs = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Name = Annotated[str, Meta(pattern=CHOSEN_NAME)]
ScopeText = Annotated[str, Meta(pattern=r"^(?:account|(?:agent|task|session)(?::[^\x00-\x1f]{1,240})?)$")]


class BudgetQuery(Input, frozen=True, kw_only=True):
    """Which budget."""

    name: Name


class AllowBody(BudgetQuery, frozen=True, kw_only=True):
    """Which budget to allow once more; if it is one for each agent, task or session, also for which of them."""

    subject: Reference | None = None


class BudgetBody(BudgetQuery, frozen=True, kw_only=True):
    """A budget: its scope, and limits of tokens (input and output), US dollars or runs, at least one of them.

    `scope` is `account`; `agent`, `task` or `session` for each one separately; or a single one, such as `agent:main`.
    """

    scope: ScopeText
    tokens: Tokens | None = None
    usd: Dollars | None = None
    runs: Runs | None = None
    per: BudgetPer = "day"
    action: BudgetAction = "wait"


@endpoint("GET", "/api/budgets", "budgets", who=OWNER)
def list_budgets(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[BudgetShape]:
    """List the budgets as they stand, the fullest first."""
    return Page(every_budget(tx, access, _rules(call.services)))


@endpoint("POST", "/api/budgets", "budget", who=OWNER)
def make_budget(call: Call[BudgetBody, NoQuery], tx: Tx, access: Access) -> BudgetShape:
    """Set a budget, replacing the one of that name; runs that wait for it check again whether they may go on."""
    body = call.body
    scope, subject = parse_scope(body.scope)
    budget = Budget(
        name=body.name,
        scope=scope,
        subject=_found(tx, access, scope, subject) if subject else "",
        tokens=body.tokens or 0,
        usd=body.usd or 0.0,
        runs=body.runs or 0,
        per=body.per,
        action=body.action,
    )
    set_budget(tx, access, budget)
    return find_budget(tx, access, budget.name, _rules(call.services))


@endpoint("DELETE", "/api/budgets", who=OWNER)
def delete_budget(call: Call[None, BudgetQuery], tx: Tx, access: Access) -> None:
    """Remove a budget; one of the same name in the settings then applies again."""
    remove_budget(tx, access, call.query.name)


@endpoint("POST", "/api/budgets/allow", "budget", who=OWNER)
def allow_budget(call: Call[AllowBody, NoQuery], tx: Tx, access: Access) -> BudgetShape:
    """Allow a budget's whole amount once more until it resets; runs that wait for it go on."""
    name, subject, rules = call.body.name, call.body.subject, _rules(call.services)
    scope, own = parse_scope(find_budget(tx, access, name, rules).scope)
    if subject is not None and scope != "account" and not own:
        subject = _found(tx, access, scope, subject)
    return allow_once(tx, access, name, rules, subject)


def _rules(services: Services) -> BudgetRules:
    return BudgetRules(services.settings.budgets, services.settings.prices)


def _found(tx: Tx, access: Access, scope: Scope, subject: str) -> str:
    """Return the id of a budget's subject, which must exist."""
    if scope == "agent":
        return require_agent(tx, access, subject).id
    if scope == "task":
        return readable_task(tx, access, subject)[0].id
    return str(find_session(tx, access, subject).key)
