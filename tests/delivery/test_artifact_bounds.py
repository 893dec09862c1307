"""How much a run may add as artifacts: how many parts, and how many bytes together."""

import json
from typing import Any

from carrel.kernel.limits import ARTIFACT_BYTES_PER_RUN_MAX, ARTIFACTS_PER_RUN_MAX
from carrel.records import Artifact, artifact_sizes, insert_artifact
from carrel.storage import Tx
from tests.harness.server import gateways_to, open_server
from tests.scripted_gateway import ScriptedGateway, calls, text


async def _add(url: str, gateway: ScriptedGateway, present: list[str], *texts: str) -> tuple[list[Any], int]:
    """Have a run add texts to what it has already added; what each call was answered, and the parts afterwards."""
    gateway.script(calls(*(("artifact_add", {"text": one}) for one in texts)), text("Done."))
    async with open_server(url, gateways_to(gateway), working=False) as server:
        run = await server.send("go on")

        def work(tx: Tx) -> None:
            for content in present:
                part = Artifact("before", tx.tick(), None, None, None, "text", content, tx.now, 0)
                insert_artifact(tx, server.access, run.id, part)

        await server.db.write(work)
        server.start()
        assert (await server.settled(run)).reply == "Done."
        parts = await server.read(lambda tx: artifact_sizes(tx, server.access, run.id))
    outputs = [item for item in gateway.requests[1].json["input"] if item["type"] == "function_call_output"]
    return [json.loads(item["output"]) for item in outputs], len(parts)


async def test_what_does_not_fit_beside_the_rest_is_refused_and_what_fits_is_taken(
    store_url: str, gateway: ScriptedGateway
) -> None:
    # Two bytes each: characters are not what is counted.
    present = ["ä" * ((ARTIFACT_BYTES_PER_RUN_MAX - 8) // 2)]
    (much, little, more), parts = await _add(store_url, gateway, present, "123456789", "12345678", "1")
    assert much["error"]["code"] == "limit_reached"
    assert f"{ARTIFACT_BYTES_PER_RUN_MAX} bytes together" in much["error"]["message"]
    assert "This part has 9, and 8 are left" in much["error"]["message"]
    assert "artifactId" in little
    assert "This part has 1, and 0 are left" in more["error"]["message"]
    assert parts == 2


async def test_a_run_has_so_many_parts_and_no_more(sqlite_url: str, gateway: ScriptedGateway) -> None:
    (last, beyond), parts = await _add(sqlite_url, gateway, ["x"] * (ARTIFACTS_PER_RUN_MAX - 1), "last", "beyond")
    assert "artifactId" in last
    assert beyond["error"]["code"] == "limit_reached"
    assert parts == ARTIFACTS_PER_RUN_MAX
