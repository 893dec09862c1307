"""Who calls which agent, in which version and with which extensions: known before anything is read of the request."""

from typing import Literal

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import Request

from carrel.access import account_by_slug
from carrel.agents import Agent, default_agent, named_agent
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, not_found, system_access
from carrel.storage import Tx
from carrel.surfaces.a2a.errors import EXTENSION_REQUIRED, VERSION_NOT_SUPPORTED, A2aError
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query, require_caller

Version = Literal["1.0", "0.3"]
_VERSIONS: tuple[Version, ...] = ("1.0", "0.3")


class Caller(Struct, frozen=True, kw_only=True):
    """One caller of one agent; `extensions` are those declared that this server knows."""

    access: Access
    agent: Agent
    # Under which address this server was reached, for what it says of its own.
    base_url: str
    extensions: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says of the extensions in use."""
        return {"A2A-Extensions": ", ".join(self.extensions)} if self.extensions else {}


async def caller_of(request: Request, house: House, wrong: WrongTokens) -> Caller:
    """Who asks, and of which agent; Refusal for no token, a wrong one, or an agent out of reach."""
    refuse_token_in_query(request)
    access = require_caller(await identify(request, house, wrong))
    agent = await house.db.read(lambda tx: agent_in_reach(tx, access, request.path_params.get("agent")))
    extensions = known_extensions(request.headers, house)
    return Caller(access=access, agent=agent, base_url=house.base_url(request.base_url), extensions=extensions)


def agent_in_reach(tx: Tx, access: Access, name: str | None) -> Agent:
    """The agent of that name, the account's default one where none is named."""
    return default_agent(tx, access) if name is None else named_agent(tx, access, name)


def anybody(tx: Tx) -> Access:
    """What a card is read with where no token is asked for: the house's access to the default account."""
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    if account is None:
        raise not_found("account")
    return system_access(account.id, account.slug)


def asked_version(request: Request) -> Version | None:
    """The version the caller names, in the header or the query; None when it names none."""
    return read_version(request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or "")


def read_version(text: str) -> Version | None:
    """The version of that name; None for no name."""
    named = text.strip()
    if not named:
        return None
    found = next((version for version in _VERSIONS if named == version or named.startswith(f"{version}.")), None)
    if found is None:
        raise unsupported_version(f"A2A {named[:20]} is not spoken here")
    return found


def unsupported_version(what: str) -> A2aError:
    """The refusal of a version, with those there are."""
    return A2aError(VERSION_NOT_SUPPORTED, f"{what}; this server speaks A2A 1.0 and 0.3 (header A2A-Version).")


def known_extensions(headers: Headers, house: House) -> tuple[str, ...]:
    """The declared extensions that this server knows; names it does not know are ignored."""
    declared = ",".join(headers.getlist("a2a-extensions") + headers.getlist("x-a2a-extensions"))
    names = {name.strip().lower() for name in declared.split(",")}
    return tuple(uri for uri in house.settings.a2a.required_extensions if uri.lower() in names)


def require_extensions(caller: Caller, house: House) -> None:
    """Refuse a caller that has not declared what every request must."""
    missing = [uri for uri in house.settings.a2a.required_extensions if uri not in caller.extensions]
    if missing:
        raise A2aError(EXTENSION_REQUIRED, f"Declare the extension {missing[0]} in the header A2A-Extensions.")
