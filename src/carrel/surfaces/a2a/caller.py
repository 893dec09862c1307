"""The caller of one agent: its access, the version and extensions it uses, and the tasks and contexts that it owns."""

from typing import Literal

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import Request

from carrel.agents import Agent, default_agent, named_agent
from carrel.goals import is_run_of_own_plan
from carrel.kernel import Access, SessionKey, caller_hash, key_text
from carrel.kernel.settings import A2aSettings
from carrel.runs import Run, run_by_id
from carrel.storage import Tx
from carrel.surfaces.a2a.errors import EXTENSION_REQUIRED, TASK_NOT_FOUND, VERSION_NOT_SUPPORTED, A2aError
from carrel.surfaces.a2a.requests import HistoryScope
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query, require_caller
from carrel.surfaces.http.services import Services

Version = Literal["1.0", "0.3"]
_VERSIONS: tuple[Version, ...] = ("1.0", "0.3")
OPT_URI = "https://github.com/zeroasterisk/a2a-opt/v1"


class Caller(Struct, frozen=True, kw_only=True):
    """A caller of one agent; `extensions` are the declared ones that this server knows."""

    access: Access
    agent: Agent
    # The address under which this server was reached, for URLs in its responses.
    base_url: str
    extensions: tuple[str, ...] = ()
    # The version in which the caller made this request.
    version: Version = "1.0"
    # The history scope that this request asks for.
    scope: HistoryScope = "task"

    @property
    def headers(self) -> dict[str, str]:
        """The response headers that name the extensions in use."""
        return {"A2A-Extensions": ", ".join(self.extensions)} if self.extensions else {}

    @property
    def uses_opt(self) -> bool:
        return OPT_URI in self.extensions


async def identify_caller(request: Request, services: Services, wrong_tokens: WrongTokens) -> Caller:
    """Return who calls which agent; Refusal for a missing or wrong token, or an agent that the caller cannot reach."""
    refuse_token_in_query(request)
    access = require_caller(await identify(request, services, wrong_tokens))
    agent = await services.db.read(lambda tx: reachable_agent(tx, access, request.path_params.get("agent")))
    extensions = known_extensions(request.headers, services)
    return Caller(access=access, agent=agent, base_url=services.base_url(request.base_url), extensions=extensions)


def reachable_agent(tx: Tx, access: Access, name: str | None) -> Agent:
    """Return the agent of that name, or the account's default agent."""
    return default_agent(tx, access) if name is None else named_agent(tx, access, name)


def known_uris(settings: A2aSettings) -> tuple[str, ...]:
    """Return the URIs of the extensions that a caller may declare: the required ones, and OPT."""
    return tuple(dict.fromkeys((*settings.required_extensions, *((OPT_URI,) if settings.opt.enabled else ()))))


def known_extensions(headers: Headers, services: Services) -> tuple[str, ...]:
    """Return the declared extensions that this server knows; others are ignored."""
    declared = ",".join(headers.getlist("a2a-extensions") + headers.getlist("x-a2a-extensions"))
    names = {name.strip().lower() for name in declared.split(",")}
    return tuple(uri for uri in known_uris(services.settings.a2a) if uri.lower() in names)


def require_extensions(caller: Caller, services: Services) -> None:
    missing = [uri for uri in services.settings.a2a.required_extensions if uri not in caller.extensions]
    if missing:
        raise A2aError(EXTENSION_REQUIRED, f"Declare the extension {missing[0]} in the header A2A-Extensions.")


def own_run(tx: Tx, caller: Caller, task_id: str) -> Run:
    """Return the run of a task that this caller has with this agent; another caller's counts as missing."""
    # PostgreSQL refuses any query with a NUL in a string.
    run = run_by_id(tx, caller.access, task_id) if "\x00" not in task_id else None
    if run is not None and run.agent_id == caller.agent.id:
        is_own = run.provenance_kind == "a2a" and run.actor_id == caller.access.actor_id
        # The run of a plan task belongs to the caller who made the objective.
        if is_own or is_run_of_own_plan(tx, caller.access, run):
            return run
    raise A2aError(TASK_NOT_FOUND, "No such task, or it is not yours.")


def lane_of_context(caller: Caller, context_id: str) -> SessionKey:
    """Return the lane of a context; its key contains the caller, so no caller can enter another's context."""
    owner = caller_hash(caller.access.actor_id)
    return SessionKey.of(caller.agent.id, f"a2a:{owner}:{key_text(context_id)}")


def requested_version(request: Request) -> Version | None:
    return parse_version(request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or "")


def parse_version(text: str) -> Version | None:
    """Return the version that a text names, without its patch number; None for an empty text."""
    named = text.strip()
    if not named:
        return None
    found = next((version for version in _VERSIONS if named == version or named.startswith(f"{version}.")), None)
    if found is None:
        raise unsupported_version(f"A2A {named[:20]} is not supported")
    return found


def unsupported_version(problem: str) -> A2aError:
    return A2aError(VERSION_NOT_SUPPORTED, f"{problem}; this server supports A2A 1.0 and 0.3 (header A2A-Version).")
