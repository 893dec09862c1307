"""Who calls a tool: from the token and the session header of a request to an outside caller."""

from starlette.requests import Request

from carrel.kernel import Code, Refusal
from carrel.surfaces.http.identity import WrongTokens, identify_and, is_local_call, no_token, refuse_token_in_query
from carrel.surfaces.http.services import Services
from carrel.tools import ExternalCaller, access_by_session_key, external_caller

SESSION_HEADER = "x-openclaw-session-key"


async def tool_caller(request: Request, services: Services, wrong: WrongTokens) -> ExternalCaller:
    """Return the caller of a request; Refusal for no token, a wrong one, or a session that is not the caller's."""
    refuse_token_in_query(request)
    reference, tool_services = _reference(request), services.tool_services
    caller = await identify_and(
        request, services, wrong, lambda tx, access: external_caller(tx, tool_services, access, reference)
    )
    if caller is not None:
        return caller
    trusts_keys = services.settings.agent_http.session_key_auth == "loopback"
    if reference is None or not trusts_keys or not is_local_call(request):
        raise no_token()
    return await services.db.read(
        lambda tx: external_caller(tx, tool_services, access_by_session_key(tx, reference), reference)
    )


def _reference(request: Request) -> str | None:
    given = request.headers.getlist(SESSION_HEADER)
    if len(set(given)) > 1:
        raise Refusal(Code.INVALID_PARAMS, f"{SESSION_HEADER} was sent twice; send it once.", field=SESSION_HEADER)
    return given[0] if given else None
