"""Signing in and out of the dashboard, and who the caller is."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from carrel.access import access_by_login, account_of, sign_in, sign_out
from carrel.journal import feed_start
from carrel.kernel import Access, Code, Input, Kind, Refusal, Shape
from carrel.kernel.limits import LOGIN_DAYS
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import EVERYONE, OPEN, Call, NoQuery, Reply, endpoint
from carrel.surfaces.http.identity import COOKIE, foreign_page, from_own_pages, identify

_RIGHTS: dict[str, tuple[str, ...]] = {"owner": ("read", "write", "administer"), "user": ("read", "write")}


class SignIn(Input, frozen=True, kw_only=True):
    """A token to exchange for a cookie."""

    token: Annotated[str, Meta(min_length=1, max_length=512)]


class Actor(Shape, frozen=True, kw_only=True):
    """The caller."""

    kind: Kind
    id: str
    name: str
    agent_id: str | UnsetType = UNSET


class OwnAccount(Shape, frozen=True, kw_only=True):
    """The caller's account."""

    id: str
    name: str
    slug: str


class Me(Shape, frozen=True, kw_only=True):
    """The caller, and what the caller may do."""

    account: OwnAccount
    actor: Actor
    rights: list[str]
    space_ids: list[str]
    # The newest stored event: a stream that begins behind it misses nothing of what is read after this answer.
    seq: int


@endpoint("POST", "/api/auth/session", "actor", who=OPEN)
async def begin_session(call: Call[SignIn, NoQuery]) -> Reply[Actor]:
    """Exchange a token for a session cookie."""
    if "origin" in call.request.headers and not from_own_pages(call.request):
        raise Refusal(Code.FORBIDDEN, "Pages of other sites cannot sign in here.")
    # Checked first, so that wrong tokens are counted here as everywhere else.
    await identify(call.request, call.services, call.request.app.state.wrong_tokens, token=call.body.token)
    access, cookie = await call.services.db.write(lambda tx: sign_in(tx, call.body.token))
    return Reply(200, actor_of(access), {"Set-Cookie": _cookie(call, cookie, LOGIN_DAYS * 86_400)})


@endpoint("DELETE", "/api/auth/session", who=OPEN)
async def end_session(call: Call[None, NoQuery]) -> Reply[None]:
    """Sign out: the cookie is no longer valid."""
    cookie = call.request.cookies.get(COOKIE)
    if cookie is not None:
        if not from_own_pages(call.request):
            raise foreign_page()
        access = await call.services.db.read(lambda tx: access_by_login(tx, cookie))
        if access is not None:
            await call.services.db.write(lambda tx: sign_out(tx, access, cookie))
    return Reply(204, None, {"Set-Cookie": _cookie(call, "", 0)})


@endpoint("GET", "/api/auth/me", who=EVERYONE)
def show_me(call: Call[None, NoQuery], tx: Tx, access: Access) -> Me:
    """Get the caller that the token or cookie identifies."""
    return Me(
        account=OwnAccount.of(account_of(tx, access)),
        actor=actor_of(access),
        rights=list(_RIGHTS.get(access.kind, ("read",) if access.agent_id else ())),
        space_ids=list(access.space_ids),
        seq=feed_start(tx, access, None).newest,
    )


def actor_of(access: Access) -> Actor:
    """Return the caller as responses show it."""
    agent_id = UNSET if access.agent_id is None else access.agent_id
    return Actor(kind=access.kind, id=access.actor_id, name=access.name, agent_id=agent_id)


def _cookie(call: Call[SignIn, NoQuery] | Call[None, NoQuery], value: str, seconds: int) -> str:
    response = Response()
    secure = call.request.url.scheme == "https" or call.services.settings.server.public_url.startswith("https:")
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")
    return response.headers["set-cookie"]
