"""Budgets: what agents may use, set by owners."""

from typing import Annotated

from msgspec import Meta

from carrel.agents import require_agent
from carrel.budgets import (
    Amounts,
    BudgetName,
    BudgetRules,
    BudgetShape,
    Period,
    Scope,
    allow_once,
    every_budget,
    find_budget,
    remove_budget,
    set_budget,
)
from carrel.kernel import Access, Refusal, invalid
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import OWNER, Call, In, NoQuery, Page, endpoint, one, page_of
from carrel.surfaces.api.fields import Reference
from carrel.surfaces.http.house import House
from carrel.work import readable_task

Tokens = Annotated[int, Meta(ge=1, le=1_000_000_000_000_000)]
Dollars = Annotated[float, Meta(gt=0, le=1_000_000_000)]
Runs = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class BudgetQuery(In, frozen=True, kw_only=True):
    """Which budget: of an agent, a task or a session, or of the account, which needs no subject."""

    scope: Scope
    subject: Reference | None = None
    period: Period = "day"


class BudgetBody(BudgetQuery, frozen=True, kw_only=True):
    """A budget: tokens (input and output), US dollars and runs, at least one of them."""

    tokens: Tokens | None = None
    cost_usd: Dollars | None = None
    runs: Runs | None = None


@endpoint("GET", "/api/budgets", answers={200: page_of("budgets", BudgetShape)}, who=OWNER)
def list_budgets(call: Call[None, NoQuery], tx: Tx, access: Access) -> Page[BudgetShape]:
    """List the budgets as they stand, the fullest first."""
    return Page(every_budget(tx, access, _rules(call.house)))


@endpoint("POST", "/api/budgets", answers={200: one("budget", BudgetShape)}, who=OWNER, body=BudgetBody)
def make_budget(call: Call[BudgetBody, NoQuery], tx: Tx, access: Access) -> BudgetShape:
    """Set a budget, in the place of the one before; what waits for it looks again whether it may go on."""
    name, body = _named(tx, access, call.body), call.body
    amounts = Amounts(tokens=body.tokens or 0, cost_usd=body.cost_usd or 0.0, runs=body.runs or 0)
    set_budget(tx, access, name, amounts)
    return find_budget(tx, access, name, _rules(call.house))


@endpoint("DELETE", "/api/budgets", answers={204: None}, who=OWNER, query=BudgetQuery)
def delete_budget(call: Call[None, BudgetQuery], tx: Tx, access: Access) -> None:
    """Remove a budget; where the settings have one, that holds again."""
    remove_budget(tx, access, _named(tx, access, call.query, gone=True))


@endpoint("POST", "/api/budgets/allow", answers={200: one("budget", BudgetShape)}, who=OWNER, body=BudgetQuery)
def allow_budget(call: Call[BudgetQuery, NoQuery], tx: Tx, access: Access) -> BudgetShape:
    """Allow as much again as a budget is, until it begins anew; what waits for it goes on."""
    name = _named(tx, access, call.body)
    allow_once(tx, access, name, _rules(call.house))
    return find_budget(tx, access, name, _rules(call.house))


def _rules(house: House) -> BudgetRules:
    return BudgetRules(house.settings.budgets, house.settings.prices)


def _named(tx: Tx, access: Access, wanted: BudgetQuery, *, gone: bool = False) -> BudgetName:
    """The budget that is meant; one that is to go may be of something that is gone."""
    if wanted.scope == "account":
        if wanted.subject is not None:
            raise invalid("subject", "The account's own budget has no subject: leave it out.")
        return BudgetName("account", wanted.period, "")
    if wanted.subject is None:
        raise invalid("subject", f"subject must name the {wanted.scope} that the budget is of.")
    try:
        return BudgetName(wanted.scope, wanted.period, _subject(tx, access, wanted.scope, wanted.subject))
    except Refusal:
        if not gone:
            raise
        return BudgetName(wanted.scope, wanted.period, wanted.subject)


def _subject(tx: Tx, access: Access, scope: Scope, subject: str) -> str:
    if scope == "agent":
        return require_agent(tx, access, subject).id
    if scope == "task":
        return readable_task(tx, access, subject)[0].id
    return str(find_session(tx, access, subject).key)
