"""The settings of a running server: what people see of them, and taking up changes without a restart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import getLogger
from pathlib import Path

from carrel.kernel import Code, Refusal
from carrel.kernel.settings import GatewaySettings, SettingRow
from carrel.main.config_file import with_gateway
from carrel.main.gateways import Gateways
from carrel.main.replace_file import replace_file
from carrel.main.settings import Loaded, SettingsFault
from carrel.surfaces import Reloaded, WrongSettings

_log = getLogger("carrel.main")
# What is taken up by a reload. Everything else is read once, by the rooms that are given it.
_LIVE = "gateway."
# Where keys are kept that a person typed into the dashboard: files that only the server's user can read.
_KEYS = "keys"


class LiveConfiguration:
    """The settings that are in force; `read` reads the file and the environment again."""

    def __init__(self, loaded: Loaded, gateways: Gateways, read: Callable[[], Loaded]) -> None:
        self._rows: Sequence[SettingRow] = loaded.rows
        self._file = loaded.file
        self._keys = loaded.settings.storage.data_dir / _KEYS
        self._gateways = gateways
        self._read = read
        # The settings may name secrets, which no row shows.
        self._gateway_settings = loaded.settings.gateway
        self.troubles = gateways.troubles

    def rows(self) -> Sequence[SettingRow]:
        """Return every setting as people may see it."""
        return self._rows

    def file(self) -> str:
        """Return the path of the file that they are read from, which need not exist."""
        return str(self._file.path.expanduser().absolute())

    async def reload(self) -> Reloaded:
        """Read the settings again and use the gateways that they name; raise WrongSettings if they are wrong."""
        try:
            loaded = self._read()
            self._gateways.replace(loaded.settings.gateway)
        except SettingsFault as fault:
            raise WrongSettings(fault.problems) from fault
        except Refusal as refusal:
            raise WrongSettings([refusal.message]) from refusal
        before = {row.name: row for row in self._rows}
        now = {row.name: row for row in loaded.rows}
        others = [name for name in now if not name.startswith(_LIVE) and now[name].value != before[name].value]
        changed = list(_changed_names(self._gateway_settings, loaded.settings.gateway))
        # What is not taken up is still shown as it is in force.
        self._rows = [row if row.name.startswith(_LIVE) else before[row.name] for row in loaded.rows]
        self._gateway_settings = loaded.settings.gateway
        self._file = loaded.file
        _log.info("settings_reloaded", extra={"changed": changed, "need_restart": others})
        return Reloaded(changed=changed, need_restart=others)

    async def connect(self, name: str, fields: Mapping[str, str], key: str) -> Reloaded:
        """Write a gateway into the settings file, its key into a file of its own, and take it up; all or nothing."""
        self._refuse_overridden(name)
        path = self._file.path.expanduser()
        try:
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            kept = {"api_key_file": str(self._key_file(name, key))} if key else {}
            replace_file(path, with_gateway(before, name, {**fields, **kept}))
        except OSError as error:
            message = f"{error.filename or path} cannot be written: {error.strerror}. Nothing was changed."
            raise Refusal(Code.CONFLICT, message) from error
        try:
            return await self.reload()
        except WrongSettings as wrong:
            replace_file(path, before)
            raise Refusal(Code.CONFLICT, f"{path} has mistakes: {' '.join(wrong.problems)}") from wrong

    def _key_file(self, name: str, key: str) -> Path:
        path = self._keys.expanduser().absolute() / name
        replace_file(path, f"{key}\n", mode=0o600)
        return path

    def _refuse_overridden(self, name: str) -> None:
        """Refuse to write what the environment would override without a word."""
        row = next((row for row in self._rows if row.name.startswith(f"gateway.{name}.") and row.source == "env"), None)
        if row is not None:
            message = f"{row.name} is set in the server's environment, which counts more than the settings file."
            raise Refusal(Code.CONFLICT, message)


def _changed_names(before: Mapping[str, GatewaySettings], now: Mapping[str, GatewaySettings]) -> Iterator[str]:
    """Yield the settings of gateways that differ; of a gateway that came or went, what is not its default."""
    usual = GatewaySettings()
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, usual), now.get(name, usual)
        for field in GatewaySettings.__struct_fields__:
            came_or_went = field == "kind" and (name in before) != (name in now)
            if came_or_went or getattr(old, field) != getattr(new, field):
                yield f"gateway.{name}.{field}"
