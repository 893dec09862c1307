"""Runs a kit with its own interpreter against a server with the settings of a profile and the kit's model."""

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.kit_gateway import KitGateway, Otherwise
from tests.conformance.reports import Report, read_junit, read_requirements
from tests.conformance.version_proxy import VersionProxy
from tests.harness.process import RunningServer, clean_environment, reaching

KIT_SECONDS_MAX = 1800
REQUIRED_EXTENSION = "urn:a2a:tck:required-extension"
OLD_CATEGORIES = ("mandatory", "capabilities", "quality", "features")
EQUIVALENCE = "transport-equivalence"

# What the server offers: everything, only the core, or a required extension.
PROFILES: dict[str, dict[str, str]] = {
    "full": {"CARREL_A2A__PUSH__ALLOW_PRIVATE_ADDRESSES": "true"},
    "none": {
        "CARREL_A2A__STREAMING": "false",
        "CARREL_A2A__PUSH__ENABLED": "false",
        "CARREL_A2A__EXTENDED_CARD": "false",
    },
    "required-extension": {"CARREL_A2A__REQUIRED_EXTENSIONS": f'["{REQUIRED_EXTENSION}"]'},
}
# The kit's clients declare no extension, so only the tests of required extensions are meaningful there.
ONLY = {"required-extension": ["-k", "ExtensionRequired"]}


@contextlib.contextmanager
def kit_server(profile: str, *, grpc: bool = False, otherwise: Otherwise = "complete") -> Iterator[RunningServer]:
    """Run a server with the kit's model that needs no token on this machine."""
    with tempfile.TemporaryDirectory(prefix="carrel-kit-") as name, KitGateway(otherwise) as gateway:
        settings = {
            "CARREL_AUTH__MODE": "loopback",
            "CARREL_LOG__LEVEL": "warning",
            **PROFILES[profile],
            **reaching(gateway),
        }
        if grpc:
            settings["CARREL_A2A__GRPC_PORT"] = str(free_port())
        server = RunningServer(Path(name), clean_environment(Path(name), **settings))
        try:
            yield server
        finally:
            server.close()


def run_kit(kit: Path, profile: str, *, grpc: bool, more: list[str]) -> Report:
    """Run the 1.0 kit against one profile."""
    with kit_server(profile, grpc=grpc) as server:
        _run(kit, ["--sut-host", server.url, "-v", "--", *ONLY.get(profile, []), *more])
        report = read_junit(f"1.0 kit, profile {profile}", kit / "reports" / "junitreport.xml")
        report.requirements = read_requirements(kit / "reports" / "compatibility.json")
        return report


def run_old_kit(kit: Path, transports: list[str]) -> list[Report]:
    """Run the 0.3 kit for each transport; its tasks ask for more input, because it continues and cancels them."""
    runs = [(category, transport) for transport in transports for category in OLD_CATEGORIES]
    if len(transports) > 1:
        runs.append((EQUIVALENCE, ",".join(transports)))
    with kit_server("full", otherwise="ask") as server, VersionProxy(server.url) as proxy:
        return [_run_category(kit, f"{proxy.url}/a2a/main", *run) for run in runs]


def _run_category(kit: Path, address: str, category: str, transports: str) -> Report:
    with tempfile.TemporaryDirectory(prefix="carrel-kit-") as name:
        found = Path(name) / "junit.xml"
        options = ["--sut-url", address, "--category", category, "-v", "--transports", transports]
        _run(kit, options, PYTEST_ADDOPTS=f"--junitxml={found}")
        return read_junit(f"0.3 kit, {category}, {transports}", found)


def _run(kit: Path, options: list[str], **more: str) -> None:
    python = kit / ".venv" / "bin" / "python"
    environment = {**os.environ, "TCK_STREAMING_TIMEOUT": "2.0", **more}
    subprocess.run(
        [str(python), "run_tck.py", *options], cwd=kit, env=environment, check=False, timeout=KIT_SECONDS_MAX
    )


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
