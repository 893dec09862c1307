"""The settings of a running server: how people see them, and applying changes without a restart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import getLogger

from carrel.connectors import Connectors
from carrel.inbound import Webhooks
from carrel.kernel import Code, Refusal
from carrel.kernel.settings import GatewaySettings, McpServerSettings, Section, SettingRow, WebhookSettings
from carrel.main.gateways import Gateways
from carrel.main.replace_file import replace_file, text_of
from carrel.main.settings import LoadedSettings, SettingsFault
from carrel.main.settings_edit import with_gateway
from carrel.surfaces import Reloaded, WrongSettings

_log = getLogger("carrel.main")
# Settings that a reload applies. All others are read once, by the rooms that are given them.
_LIVE = ("gateway.", "mcp.", "webhooks.")
# Directory for keys that a person typed into the dashboard; only the server's user can read the files.
_KEYS = "keys"


class LiveSettings:
    """The settings that are in force; `read` reads the file and the environment again."""

    def __init__(
        self, loaded: LoadedSettings, gateways: Gateways, connectors: Connectors, webhooks: Webhooks,
        read: Callable[[], LoadedSettings]
    ) -> None:  # fmt: skip
        self._rows: Sequence[SettingRow] = loaded.rows
        self._file = loaded.file
        self._keys = loaded.settings.storage.data_dir / _KEYS
        self._gateways = gateways
        self._connectors = connectors
        self._webhooks = webhooks
        self._read = read
        # The settings may name secrets, which no row shows.
        self._in_force = loaded.settings
        self.troubles = gateways.troubles

    def rows(self) -> Sequence[SettingRow]:
        """Return every setting as people may see it."""
        return self._rows

    def file(self) -> str:
        """Return the path of the file that they are read from, which need not exist."""
        return str(self._file.path.expanduser().absolute())

    async def reload(self) -> Reloaded:
        """Read the settings again; use the gateways, MCP servers and webhooks they name, or raise WrongSettings."""
        try:
            loaded = self._read()
            webhooks = self._webhooks.opened(loaded.settings.webhooks)
            self._gateways.replace(loaded.settings.gateway)
        except SettingsFault as fault:
            raise WrongSettings(fault.problems) from fault
        except Refusal as refusal:
            raise WrongSettings([refusal.message]) from refusal
        self._connectors.replace(loaded.settings.mcp)
        self._webhooks.use(webhooks)
        before = {row.name: row for row in self._rows}
        others = [
            row.name
            for row in loaded.rows
            if not row.name.startswith(_LIVE) and row.value != (before[row.name].value if row.name in before else None)
        ]
        changed = [
            *_changed_names("gateway", self._in_force.gateway, loaded.settings.gateway, GatewaySettings()),
            *_changed_names("mcp", self._in_force.mcp, loaded.settings.mcp, McpServerSettings()),
            *_changed_names("webhooks", self._in_force.webhooks, loaded.settings.webhooks, WebhookSettings()),
        ]
        # Settings that need a restart are still shown with the value in force.
        self._rows = [row if row.name.startswith(_LIVE) else before.get(row.name, row) for row in loaded.rows]
        self._in_force = loaded.settings
        self._file = loaded.file
        _log.info("settings_reloaded", extra={"changed": changed, "need_restart": others})
        return Reloaded(changed=changed, need_restart=others)

    async def connect(self, name: str, fields: Mapping[str, str], key: str) -> Reloaded:
        """Write a gateway into the settings file and its key into a file of its own, and apply it; all or nothing."""
        row = next((row for row in self._rows if row.name.startswith(f"gateway.{name}.") and row.source == "env"), None)
        if row is not None:
            # The environment would silently override what is written.
            message = f"{row.name} is set in the server's environment, which counts more than the settings file."
            raise Refusal(Code.CONFLICT, message)
        path = self._file.path.expanduser()
        try:
            before = text_of(path)
            if key:
                key_file = self._keys.expanduser().absolute() / name
                replace_file(key_file, f"{key}\n", mode=0o600)
                fields = {**fields, "api_key_file": str(key_file)}
            replace_file(path, with_gateway(before, name, fields))
        except OSError as error:
            message = f"{error.filename or path} cannot be written: {error.strerror}. Nothing was changed."
            raise Refusal(Code.CONFLICT, message) from error
        try:
            return await self.reload()
        except WrongSettings as wrong:
            replace_file(path, before)
            raise Refusal(Code.CONFLICT, f"{path} has mistakes: {' '.join(wrong.problems)}") from wrong


def _changed_names(
    section: str, before: Mapping[str, Section], now: Mapping[str, Section], usual: Section
) -> Iterator[str]:  # fmt: skip
    """Yield the settings of a section that differ; an added or removed name is compared with the defaults."""
    first = usual.__struct_fields__[0]
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, usual), now.get(name, usual)
        for field in usual.__struct_fields__:
            came_or_went = field == first and (name in before) != (name in now)
            if came_or_went or getattr(old, field) != getattr(new, field):
                yield f"{section}.{name}.{field}"
