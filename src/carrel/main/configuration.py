"""The settings of a running server: what people see of them, and taking up changes without a restart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from logging import getLogger

from carrel.kernel import Refusal
from carrel.kernel.settings import GatewaySettings, SettingRow
from carrel.main.gateways import Gateways
from carrel.main.settings import Loaded, SettingsFault
from carrel.surfaces import Reloaded, WrongSettings

_log = getLogger("carrel.main")
# What is taken up by a reload. Everything else is read once, by the rooms that are given it.
_LIVE = "gateway."


class LiveConfiguration:
    """The settings that are in force; `read` reads the file and the environment again."""

    def __init__(self, loaded: Loaded, gateways: Gateways, read: Callable[[], Loaded]) -> None:
        self._rows: Sequence[SettingRow] = loaded.rows
        self._file = loaded.file
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


def _changed_names(before: Mapping[str, GatewaySettings], now: Mapping[str, GatewaySettings]) -> Iterator[str]:
    """Yield the settings of gateways that differ; of a gateway that came or went, what is not its default."""
    usual = GatewaySettings()
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, usual), now.get(name, usual)
        for field in GatewaySettings.__struct_fields__:
            came_or_went = field == "kind" and (name in before) != (name in now)
            if came_or_went or getattr(old, field) != getattr(new, field):
                yield f"gateway.{name}.{field}"
