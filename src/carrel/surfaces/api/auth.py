"""Signing in and out of the dashboard, and who the caller is."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from carrel.access import access_by_login, account_of, sign_in, sign_out
from carrel.kernel import Access, Code, Kind, Refusal
from carrel.kernel.limits import LOGIN_DAYS
from carrel.surfaces.api.endpoint import EVERYONE, OPEN, Ask, In, NoQuery, Out, Reply, endpoint
from carrel.surfaces.http.identity import COOKIE, foreign_page, from_own_pages, identify

_RIGHTS: dict[str, tuple[str, ...]] = {"owner": ("read", "write", "administer"), "user": ("read", "write")}


class SignIn(In, frozen=True, kw_only=True):
    """A token to exchange for a cookie."""

    token: Annotated[str, Meta(min_length=1, max_length=512)]


class Actor(Out, frozen=True, kw_only=True):
    """The caller."""

    kind: Kind
    id: str
    name: str
    agent_id: str | UnsetType = UNSET


class SignedIn(Out, frozen=True, kw_only=True):
    """Who is signed in now."""

    actor: Actor


class OwnAccount(Out, frozen=True, kw_only=True):
    """The caller's account."""

    id: str
    name: str
    slug: str


class Me(Out, frozen=True, kw_only=True):
    """The caller, and what the caller may do."""

    account: OwnAccount
    actor: Actor
    rights: list[str]
    space_ids: list[str]


@endpoint("POST", "/api/auth/session", answers={200: SignedIn}, who=OPEN, body=SignIn)
async def begin_session(ask: Ask[SignIn, NoQuery]) -> Reply:
    """Exchange a token for a session cookie."""
    if "origin" in ask.request.headers and not from_own_pages(ask.request):
        raise Refusal(Code.FORBIDDEN, "Pages of other sites cannot sign in here.")
    # Checked first, so that wrong tokens are counted here as everywhere else.
    await identify(ask.request, ask.house, ask.request.app.state.wrong_tokens, token=ask.body.token)
    access, cookie = await ask.house.db.write(lambda tx: sign_in(tx, ask.body.token))
    return Reply(200, SignedIn(actor=actor_of(access)), {"Set-Cookie": _cookie(ask, cookie, LOGIN_DAYS * 86_400)})


@endpoint("DELETE", "/api/auth/session", answers={204: None}, who=OPEN)
async def end_session(ask: Ask[None, NoQuery]) -> Reply:
    """Sign out: the cookie is no longer valid."""
    cookie = ask.request.cookies.get(COOKIE)
    if cookie is not None:
        if not from_own_pages(ask.request):
            raise foreign_page()
        access = await ask.house.db.read(lambda tx: access_by_login(tx, cookie))
        if access is not None:
            await ask.house.db.write(lambda tx: sign_out(tx, access, cookie))
    return Reply(204, None, {"Set-Cookie": _cookie(ask, "", 0)})


@endpoint("GET", "/api/auth/me", answers={200: Me}, who=EVERYONE)
async def show_me(ask: Ask[None, NoQuery]) -> Me:
    """Get the caller that the token or cookie identifies."""
    account = await ask.read(account_of)
    return Me(
        account=OwnAccount(id=account.id, name=account.name, slug=account.slug),
        actor=actor_of(ask.access),
        rights=list(_RIGHTS.get(ask.access.kind, ("read",) if ask.access.agent_id else ())),
        space_ids=list(ask.access.space_ids),
    )


def actor_of(access: Access) -> Actor:
    """Return the caller as responses show it."""
    agent_id = UNSET if access.agent_id is None else access.agent_id
    return Actor(kind=access.kind, id=access.actor_id, name=access.name, agent_id=agent_id)


def _cookie(ask: Ask[SignIn, NoQuery] | Ask[None, NoQuery], value: str, seconds: int) -> str:
    response = Response()
    secure = ask.request.url.scheme == "https" or ask.house.settings.server.public_url.startswith("https:")
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")
    return response.headers["set-cookie"]
