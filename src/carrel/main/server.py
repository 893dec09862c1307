"""The server process: start, serve, drain, stop."""

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from logging import getLogger
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
import uvloop
from msgspec import structs

from carrel.board import settle_accounts
from carrel.inbound import Webhooks
from carrel.kernel import Code, Ids, Refusal, SystemClock, system_chance
from carrel.kernel.limits import BODY_BYTES_MAX, KEEP_ALIVE_SECONDS, OBJECTS_BETWEEN_COLLECTIONS
from carrel.kernel.settings import Settings
from carrel.main.assembly import Assembly, open_store
from carrel.main.file_lock import own_file
from carrel.main.gateways import Gateways
from carrel.main.http_limits import BoundedHttp, allow_many_connections
from carrel.main.live_settings import LiveSettings
from carrel.main.login_page import LOGIN_PAGE, RENEW, keep_login_page, signed_in
from carrel.main.logs import set_up_audit, set_up_logs
from carrel.main.owner_token import OWNER_TOKEN, ensure_owner
from carrel.main.replace_file import replace_file
from carrel.main.settings import LoadedSettings
from carrel.storage import Database, NewerSchema, sqlite_path
from carrel.surfaces import WrongSettings
from carrel.surfaces.a2a import open_grpc
from carrel.tools import connectors_of

_log = getLogger("carrel.main")
# Work that is done beside the duties of a server.
Live = Callable[[Assembly], Coroutine[Any, Any, None]]
# How long connections may stay open once streams were told to end; uvicorn does not exit while one is open.
_CONNECTIONS_END_SECONDS = 3
# The file of the data directory with the address of its server.
_ADDRESS = "server.json"


def serve(
    read: Callable[[], LoadedSettings], *, role: str, open_browser: bool, life: Callable[[Gateways], Live] | None = None
) -> int:  # fmt: skip
    """Serve until told to stop; 0 after a clean stop. `read` reads the settings, again when they are reloaded.

    `life` changes the gateways, and returns the work to do while the server serves.
    """
    loaded = read()
    log = loaded.settings.log
    if sys.stderr.isatty() and all(row.source == "default" for row in loaded.rows if row.name.endswith(".format")):
        # People read text, unless a format was chosen.
        log = structs.replace(log, format="text")
    set_up_logs(log)
    allow_many_connections()
    url = loaded.settings.storage.url
    path = sqlite_path(url)
    if path is not None and role != "all":
        why = "One SQLite file belongs to one server: --role api or worker needs storage.url=postgresql://…"
        raise Refusal(Code.INVALID_PARAMS, why)
    with own_file(path) if path is not None else contextlib.nullcontext():
        try:
            return uvloop.run(_Server(loaded, read, role, open_browser, life).run())
        except NewerSchema as error:
            raise Refusal(Code.STORAGE_UNAVAILABLE, str(error)) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            why = f"Cannot write to the data directory ({error.strerror}); free some space and start again."
            raise Refusal(Code.STORAGE_UNAVAILABLE, why) from error


@dataclass(eq=False)
class _Server:
    _loaded: LoadedSettings
    _read: Callable[[], LoadedSettings]
    _role: str
    _open_browser: bool
    _life: Callable[[Gateways], Live] | None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _owner_token: str = ""

    @property
    def _settings(self) -> Settings:
        return self._loaded.settings

    async def run(self) -> int:
        """Open, serve, drain, close."""
        settings = self._settings
        _prepare_folder(settings.storage.data_dir)
        set_up_audit(settings.audit, settings.storage.data_dir)
        sock = _listen(settings.server.host, settings.server.port)
        db = open_store(settings.storage.url, durability=settings.storage.durability)
        try:
            self._owner_token = await ensure_owner(db, settings.storage.data_dir)
            await settle_accounts(db, settings.context.recall)
            async with Gateways(settings.gateway) as gateways:
                await self._work(db, gateways, sock)
        finally:
            await db.close()
        return 0

    async def _work(self, db: Database, gateways: Gateways, sock: socket.socket) -> None:
        works = self._role != "api"
        connectors, webhooks = connectors_of(self._settings.mcp), Webhooks(self._settings.webhooks)
        configuration = LiveSettings(self._loaded, gateways, connectors, webhooks, self._read)
        live = None if self._life is None else self._life(gateways)
        assembly = Assembly(
            db, gateways.wire, gateways.connections, self._settings,
            worker=f"{socket.gethostname()}:{os.getpid()}", works=works, draining=self._stopping.is_set,
            configuration=configuration, connectors=connectors, webhooks=webhooks,
        )  # fmt: skip
        services = assembly.services
        web = _Web(assembly.app, lambda: self._ready(sock))
        # Before the web server answers: once we report that we are ready, clients may use either.
        grpc = await open_grpc(services, assembly.wrong_tokens, Ids(SystemClock(), system_chance()), _address(sock))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        async with asyncio.TaskGroup() as group:
            loop.add_signal_handler(signal.SIGHUP, lambda: group.create_task(_reload(configuration)))
            serving = [group.create_task(web.serve(sockets=[sock]))]
            if grpc is not None:
                serving.append(group.create_task(grpc.serve_until_closing()))
            duties = [group.create_task(serve()) for serve in assembly.duties()]
            if live is not None:
                duties.append(group.create_task(live(assembly)))
            await self._stopping.wait()
            _log.info("draining")
            if works:
                await assembly.dispatcher.drain(self._settings.server.drain_seconds)
            services.closing.set()
            web.should_exit = True
            await asyncio.gather(*serving)
            for duty in duties:
                duty.cancel()
        for name in (_ADDRESS, LOGIN_PAGE):
            (self._settings.storage.data_dir / name).unlink(missing_ok=True)
        _log.info("stopped")

    def _ready(self, sock: socket.socket) -> None:
        """Print the address once the server answers there."""
        _collect_seldom()
        address = _address(sock)
        data_dir = self._settings.storage.data_dir
        located = msgspec.json.encode({"url": address, "pid": os.getpid()}).decode()
        replace_file(data_dir / _ADDRESS, located, mode=0o600)
        dashboard = signed_in(self._settings.server.public_url or address, self._owner_token)
        if not self._owner_token:
            _log.warning("owner_token_not_valid", extra={"advice": RENEW})
        sys.stdout.write(f"dashboard {dashboard}\nready {address}\n")
        sys.stdout.flush()
        if self._open_browser:
            page = keep_login_page(data_dir, dashboard).as_uri()
            # Some browsers return only when they are closed; neither requests nor a stop should wait for that.
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()


class _Web(uvicorn.Server):
    """uvicorn, but main handles the signals and is told when it answers."""

    def __init__(self, app: object, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                loop="none",
                http=BoundedHttp,
                ws="websockets-sansio",
                ws_max_size=BODY_BYTES_MAX,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                # Anybody can send X-Forwarded-For; server.public_url says how clients reach this server.
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_CONNECTIONS_END_SECONDS,
            )
        )
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to main, which drains first."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _collect_seldom() -> None:
    """Exclude all present objects from garbage collection: they stay, and scanning them takes long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


async def _reload(configuration: LiveSettings) -> None:
    """Reload the settings on a signal; only the log can report mistakes."""
    try:
        await configuration.reload()
    except WrongSettings as error:
        _log.error("settings_not_reloaded", extra={"problems": list(error.problems)})


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        sock = socket.socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        why = f"Cannot listen on {host}:{port} ({error.strerror}); is another server there? Try --port 0."
        raise Refusal(Code.CONFLICT, why) from error
    return sock


def _address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _prepare_folder(data_dir: Path) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = f"Cannot make the data directory {data_dir} ({error.strerror})."
        raise Refusal(Code.STORAGE_UNAVAILABLE, why) from error
    # Another user's file cannot be changed, and `carrel doctor` says so.
    with contextlib.suppress(OSError):
        (data_dir / OWNER_TOKEN).chmod(0o600)
