"""Reading makes nothing: every GET of the API, asked for what exists and for what does not."""

import httpx
import msgspec

from carrel.storage import Tx
from carrel.surfaces.api.endpoints import ENDPOINTS
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.api_calls import send_and_wait

READS = [one for one in ENDPOINTS if one.method == "GET"]
# Sessions, spaces and things that are not there, spelled in every way that could make them.
SESSIONS = (
    "agent:main:web:never_spoken_1", "agent:main:task:far", "agent:main:topic:far", "clawboard:topic:far",
    "clawboard:task:far:away", "cron:far", "hook:far", "node-far", "discord-4711|thread:7", "channel:far", "main",
)  # fmt: skip
FIXED = {
    "clientInstanceId": "tab-far", "q": "far away", "spaceId": "space-far", "allowedSpaceIds": "space-far,space-x",
    "timeoutSeconds": "0", "with": "run_far", "channelType": "web",
}  # fmt: skip
SESSION_FIELDS = ("sessionKey", "sessionId", "session", "key")


async def rows(server: HttpServer) -> dict[str, int]:
    """Return how many rows each table has."""

    def count(tx: Tx) -> dict[str, int]:
        named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search_words%'"
        tables = [str(row[0]) for row in tx.all(named)]
        return {table: int(tx.all(f"SELECT count(*) FROM {table}")[0][0]) for table in tables}

    return await server.db.db.read(count)  # type: ignore[attr-defined,no-any-return]


async def ask(client: httpx.AsyncClient, path: str, query: dict[str, str]) -> int:
    """Ask; of a stream, only its beginning."""
    async with client.stream("GET", path, params=query) as answer:
        return answer.status_code


@requirement("S4.x.read.pure")
async def test_no_get_of_the_api_adds_a_row_to_any_table(sqlite_url: str) -> None:
    async with open_http_server(sqlite_url) as server, server.client() as client:
        run = (await send_and_wait(client, "hello", sessionKey="agent:main:main"))["id"]
        # Nothing but the calls themselves writes any more, not even what is under way when the server is killed.
        await server.indexed()
        await server.kill()
        before, answered = await rows(server), set()
        for one in READS:
            fields = {field.encode_name for field in msgspec.structs.fields(one.query)}
            fixed = {name: value for name, value in FIXED.items() if name in fields}
            for session in SESSIONS:
                query = fixed | {name: session for name in SESSION_FIELDS if name in fields}
                for subject in {session, run, "far"} if "{" in one.path else {""}:
                    path = one.path.replace("{id}", subject).replace("{key}", subject)
                    status = await ask(client, path, query)
                    assert status < 500, f"{path} {query}: {status}"
                    if status == 200:
                        answered.add(one.path)
                        assert await rows(server) == before, f"{path} {query}"
        assert await rows(server) == before
        unanswered = {one.path for one in READS} - answered
        assert len(unanswered) < len(READS) / 3, f"too few reads were answered: {unanswered}"
