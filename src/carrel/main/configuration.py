"""The settings of a running server: what people see of them, and taking up changes without a restart."""

from collections.abc import Callable, Sequence
from logging import getLogger

from carrel.kernel import Refusal
from carrel.kernel.settings import SettingRow
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
        self._gateways = gateways
        self._read = read
        # The settings may name secrets, which no row shows.
        self._gateway_settings = loaded.settings.gateway
        self.troubles = gateways.troubles

    def rows(self) -> Sequence[SettingRow]:
        """Return every setting as people may see it."""
        return self._rows

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
        changed = self._changed_gateways(loaded)
        # What is not taken up is still shown as it is in force.
        self._rows = [row if row.name.startswith(_LIVE) else before[row.name] for row in loaded.rows]
        self._gateway_settings = loaded.settings.gateway
        _log.info("settings_reloaded", extra={"changed": changed, "need_restart": others})
        return Reloaded(changed=changed, need_restart=others)

    def _changed_gateways(self, loaded: Loaded) -> list[str]:
        before, now = self._gateway_settings, loaded.settings.gateway
        names = sorted(before.keys() | now.keys())
        return [f"gateway.{name}" for name in names if before.get(name) != now.get(name)]
