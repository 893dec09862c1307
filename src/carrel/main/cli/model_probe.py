"""Asking a model server what it speaks, from a command."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrel.gateway import Probe


def probe_server(base_url: str, key: str) -> "Probe":
    """Return what a server speaks and which models it lists."""
    # Imported by the commands that need them only: the help must not wait for them.
    import asyncio

    from carrel.gateway import probe
    from carrel.wire import Wire

    async def ask() -> "Probe":
        wire = Wire()
        try:
            return await probe(base_url, key, wire)
        finally:
            await wire.close()

    return asyncio.run(ask())
