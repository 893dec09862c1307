"""Connecting a model from the dashboard: what `carrel connect` does, for the owner of the account `default`.

A key goes in and never comes out. A caller on this machine may name any address; from elsewhere only public ones and
the servers in our list are asked, so that nobody looks into the network of the server through it.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, convert

from carrel.gateway import MODEL_SERVERS, ModelServer, Probe, gateway_key, model_server, probe
from carrel.kernel import Input, Shape, invalid
from carrel.kernel.limits import API_KEY_BYTES_MAX, MODEL_URL_CHARS_MAX, NAME_CHARS_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.surfaces.api.endpoint import OWNER, Call, NoQuery, endpoint
from carrel.surfaces.api.health import reloaded_settings
from carrel.surfaces.http.identity import is_local_call
from carrel.surfaces.http.services import Reloaded, Services
from carrel.wire import ForbiddenAddress, Wire, WireFault, public_target, web_host

Server = Annotated[str, Meta(min_length=1, max_length=MODEL_URL_CHARS_MAX)]
Key = Annotated[str, Meta(max_length=API_KEY_BYTES_MAX)]


class KnownServer(Shape, frozen=True, kw_only=True):
    """A model server that people have; `keyEnv` names the server's variable for its key, `hasKey` whether it is set."""

    name: str
    base_url: str
    key_env: str
    has_key: bool
    start: str


class ServerToProbe(Input, frozen=True, kw_only=True):
    """A server by its name or URL; without a key, the one that the server has for this address is used."""

    server: Server
    key: Key = ""


class Found(Shape, frozen=True, kw_only=True):
    """What a server speaks, the richest dialect first, which of them to use, and its models.

    `problem` says in one sentence why it cannot be used as it was asked.
    """

    base_url: str
    kinds: tuple[str, ...]
    kind: str | None
    models: tuple[str, ...]
    needs_key: bool
    problem: str | None


class ServerToConnect(ServerToProbe, frozen=True, kw_only=True):
    """A server, the model to use there, the dialect, and the name of the gateway that it becomes."""

    model: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
    kind: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | None = None
    gateway: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")] = "default"


@endpoint("GET", "/api/models/servers", "servers", who=OWNER, by_operator=True)
async def list_model_servers(call: Call[None, NoQuery]) -> list[KnownServer]:
    """List the model servers that can be connected by name."""
    return [
        KnownServer.of(known, name=name, has_key=bool(_key_in(GatewaySettings(api_key_env=known.key_env))))
        for name, known in MODEL_SERVERS.items()
    ]


@endpoint("POST", "/api/models/probe", who=OWNER, by_operator=True)
async def probe_model_server(call: Call[ServerToProbe, NoQuery]) -> Found:
    """Ask a model server what it speaks and which models it has, without calling a model."""
    server, found, problem = await _probe(call, call.body)
    kind = server.best_of(found.kinds) if found.kinds else None
    return Found.of(found, base_url=server.base_url, kind=kind, problem=problem)


@endpoint("POST", "/api/models/connect", who=OWNER, by_operator=True)
async def connect_model(call: Call[ServerToConnect, NoQuery]) -> Reloaded:
    """Write a model server into the settings as a gateway and take it up; a key is kept in a file beside the data."""
    body = call.body
    server, found, problem = await _probe(call, body)
    if problem is not None:
        raise invalid("server", problem)
    kind = body.kind or server.best_of(found.kinds)
    if kind not in found.kinds:
        raise invalid("kind", f"{server.base_url} speaks {', '.join(found.kinds)}, not {kind[:80]}.")
    fields = {"kind": kind, "base_url": server.base_url, "model": body.model}
    named = {} if body.key else _key_named(call.services, server)
    reloaded = await call.services.configuration.connect(body.gateway, {**fields, **named}, body.key)
    return await reloaded_settings(call, reloaded)


async def _probe(call: Call[Any, NoQuery], body: ServerToProbe) -> tuple[ModelServer, Probe, str | None]:
    """Return the server, what was found there, and why it cannot be used, if so."""
    server = model_server(body.server)
    public_only = body.server not in MODEL_SERVERS and not is_local_call(call.request)
    await _check_address(server.base_url, public_only=public_only)
    wire, key = Wire(), _key(call.services, server, body.key)
    try:
        found = await probe(server.base_url, key, wire, public_only=public_only)
    finally:
        await wire.close()
    problem = "The server refuses this key." if key else "The server needs a key."
    if found.trouble:
        problem = " ".join(filter(None, (found.trouble, server.start)))
    return server, found, problem if found.trouble or found.needs_key else None


async def _check_address(url: str, *, public_only: bool) -> None:
    try:
        web_host(url)
    except ForbiddenAddress as fault:
        raise invalid("server", fault.message) from None
    if public_only:
        try:
            await public_target(url)
        except ForbiddenAddress as fault:
            elsewhere = "Addresses in its own network are connected on the server's machine, with `carrel connect`."
            raise invalid("server", f"{fault.message} {elsewhere}") from None
        except WireFault as fault:
            raise invalid("server", fault.message) from None


def _key(services: Services, server: ModelServer, given: str) -> str:
    """Return the key to send: the one given, else the one that already goes to this address."""
    return given or _key_in(convert(_key_named(services, server), GatewaySettings))


def _key_named(services: Services, server: ModelServer) -> Mapping[str, str]:
    """Return where the key for an address is already kept; a key is never sent to a new address."""
    for connection in services.connections.values():
        settings = connection.settings
        if settings.base_url == server.base_url:
            kept = {name: getattr(settings, name) for name in ("api_key", "api_key_env", "api_key_file")}
            return {name: value for name, value in kept.items() if value}
    has_key = server.key_env and _key_in(GatewaySettings(api_key_env=server.key_env))
    return {"api_key_env": server.key_env} if has_key else {}


def _key_in(settings: GatewaySettings) -> str:
    with suppress(ValueError):
        return gateway_key("default", settings)
    return ""
