"""Whether the server is alive and ready, its metrics, and the settings it runs with."""

import asyncio
from collections import Counter
from typing import cast

import apsw
import httpx
import psycopg
import pytest

import carrel
from carrel.access import NewToken, mint_token
from carrel.delivery import Connection
from carrel.kernel import METRICS, SystemClock
from carrel.kernel.settings import GatewaySettings
from carrel.main.gateways import Gateways
from carrel.storage import Tx, migrations, sqlite_path
from carrel.storage.postgres_transaction import BEGIN
from carrel.surfaces.api import Recorder
from tests.harness.elapsing import Elapsing
from tests.harness.server import HttpServer, Server, gateways_to, open_http_server, open_server
from tests.scripted_gateway import ScriptedGateway
from tests.surfaces.api_calls import Json, send_and_wait


async def test_a_living_server_says_so_to_anybody(nobody: httpx.AsyncClient) -> None:
    answer = await nobody.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": carrel.__version__})


async def test_a_ready_server_names_every_check(nobody: httpx.AsyncClient) -> None:
    answer = await nobody.get("/readyz")
    assert answer.status_code == 200
    names = ("storage", "migrations", "dispatcher", "feed", "gateway", "search")
    assert answer.json() == {"status": "ready", "checks": dict.fromkeys(names, "ok")}


async def test_a_draining_server_is_not_ready(server: HttpServer, nobody: httpx.AsyncClient) -> None:
    server.drain.set()
    answer = await nobody.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not_ready")
    assert answer.json()["checks"]["dispatcher"] == "failed"


async def test_a_gateway_that_is_down_degrades_and_does_not_fail(surface_url: str) -> None:
    up = {"builtin": None, "far": "Nobody answers."}
    async with open_http_server(surface_url, works=False, gateway_troubles=up) as server, server.client(None) as nobody:
        answer = await nobody.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"]["gateway"] == "degraded"
    assert answer.json()["checks"]["dispatcher"] == "degraded"


async def test_many_who_ask_at_once_and_again_cause_one_check_of_the_gateways(
    surface_url: str, gateway: ScriptedGateway
) -> None:
    async with open_server(surface_url, gateways_to(gateway)) as server:
        assert await levels(server, times=30) == await levels(server, times=30) == {"ok"}
    assert gateway.connections == 1


async def test_all_who_ask_at_once_are_told_what_the_one_check_finds(surface_url: str) -> None:
    down = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9")
    async with open_server(surface_url, {"default": down}) as server:
        assert await levels(server, times=30) == {"degraded"}


async def test_health_names_gateways_that_agents_use_and_the_settings_lack(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    for agent in ("late", "lost"):
        await server.make_agent(agent, gateway="gone")
    await server.make_agent("far", gateway="spare")
    agents = {name: await server.token(client, kind="agent", agentId=name) for name in ("late", "far")}
    (gone,) = await missing(client)
    assert (gone["name"], gone["status"]) == ("gone", "failed")
    assert gone["lastError"].startswith("Agents late, lost use gateway.gone, which is not configured.")
    assert await missing(other_client) == [], "agents of another account"
    async with server.client(agents["late"]) as late, server.client(agents["far"]) as far:
        assert [(one["name"], one["lastError"]) for one in await missing(late)] == [("gone", None)]
        assert await missing(far) == [], "agents that it may not address"
    for agent in ("lost", "late"):
        await client.delete(f"/api/agents/{agent}")
    assert await missing(client) == [], "a disabled agent needs no gateway"


async def missing(client: httpx.AsyncClient) -> list[Json]:
    """The gateways that are not configured."""
    return [one for one in (await client.get("/api/health")).json()["gateways"] if not one["kind"]]


async def test_gateways_are_checked_at_once_when_others_are_configured(surface_url: str) -> None:
    down = GatewaySettings(kind="responses", base_url="http://127.0.0.1:9")
    async with open_server(surface_url, {}) as server, Gateways({"default": down}) as others:
        assert await levels(server, times=1) == {"ok"}
        cast("dict[str, Connection]", server.services.connections).update(others.connections)
        assert await levels(server, times=1) == {"degraded"}


async def test_health_names_each_gateway_and_tells_people_what_is_wrong_with_it(surface_url: str) -> None:
    down = GatewaySettings(kind="chat", base_url="http://127.0.0.1:9")
    async with open_server(surface_url, {"default": down}) as server:
        transport = httpx.ASGITransport(app=server.assembly.app)
        _, owner = await server.db.write(lambda tx: mint_token(tx, server.access, NewToken(kind="owner", name="o")))
        new = NewToken(kind="agent", name="a", agent_id="main")
        _, agent = await server.db.write(lambda tx: mint_token(tx, server.access, new))
        async with httpx.AsyncClient(transport=transport, base_url="http://carrel.test") as client:
            told = [await _gateways(client, token) for token in (owner, owner, agent)]
    builtin, default = told[0]
    assert (builtin["name"], builtin["kind"], builtin["status"], builtin["lastError"]) == (
        "builtin",
        "builtin",
        "ok",
        None,
    )
    assert (default["name"], default["kind"], default["status"]) == ("default", "chat", "failed")
    assert "127.0.0.1:9" in default["lastError"]
    assert told[1] == told[0], "since when, not when it was last looked at"
    assert [one["lastError"] for one in told[2]] == [None, None]


async def _gateways(client: httpx.AsyncClient, token: str) -> list[Json]:
    answer = await client.get("/api/health", headers={"Authorization": f"Bearer {token}"})
    gateways: list[Json] = answer.json()["gateways"]
    return gateways


async def levels(server: Server, times: int) -> set[str]:
    """What is said of the gateways to so many who ask at once."""
    transport = httpx.ASGITransport(app=server.assembly.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://carrel.test") as nobody:
        answers = await asyncio.gather(*(nobody.get("/readyz") for _ in range(times)))
    return {answer.json()["checks"]["gateway"] for answer in answers}


async def test_a_store_that_is_gone_is_told(surface_url: str) -> None:
    async with open_http_server(surface_url, works=False) as server, server.client(None) as nobody:
        await server.db.close()
        assert (await nobody.get("/healthz")).status_code == 200
        answer = await nobody.get("/readyz")
    assert answer.status_code == 503
    checks = answer.json()["checks"]
    assert (checks["storage"], checks["migrations"], checks["feed"]) == ("failed", "failed", "failed")


@pytest.mark.parametrize(("away", "level", "status"), [(1, "degraded", 200), (-1, "failed", 503)])
async def test_a_store_with_the_schema_of_another_version_is_told(
    store_url: str, away: int, level: str, status: int
) -> None:
    other = migrations()[-1].number + away
    async with open_http_server(store_url, works=False) as server, server.client(None) as nobody:
        if server.db.engine == "sqlite":
            apsw.Connection(str(sqlite_path(store_url))).execute(f"PRAGMA user_version={other}")
        else:
            newest = "(SELECT max(number) FROM schema_version)"
            sql = f"UPDATE schema_version SET number = :other WHERE number = {newest}"
            await server.db.write(lambda tx: tx.run(sql, other=other))
        answer = await nobody.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["migrations"]) == (status, level)
    assert answer.json()["checks"]["storage"] == "ok"


async def test_a_follower_that_does_not_keep_up_degrades_the_feed(
    either_server: HttpServer, on_either: httpx.AsyncClient
) -> None:
    await send_and_wait(on_either, "hello")
    await either_server.indexed()
    db = either_server.db

    def follow(tx: Tx, cursor: int) -> None:
        sql = "INSERT INTO followers (account_id, name, cursor, updated_at) VALUES (:account, 'slow', :cursor, 0) "
        sql += "ON CONFLICT (account_id, name) DO UPDATE SET cursor = :cursor"
        tx.run(sql, either_server.access, cursor=cursor)

    async def feed() -> str:
        return str((await on_either.get("/readyz")).json()["checks"]["feed"])

    await db.write(lambda tx: follow(tx, 0))
    assert await feed() == "ok", "it has had no time yet"
    await db.write(lambda tx: tx.run("UPDATE events SET at = at - 120000"))
    assert await feed() == "degraded"
    newest = await db.read(lambda tx: tx.one("SELECT max(seq) FROM events"))
    assert newest is not None
    await db.write(lambda tx: follow(tx, newest[0]))
    assert await feed() == "ok"


async def test_an_event_that_a_long_transaction_holds_back_degrades_the_feed(postgres_url: str) -> None:
    async with open_http_server(postgres_url) as server, server.client() as client:
        with psycopg.connect(postgres_url, autocommit=True) as neighbour:
            neighbour.execute("; ".join(BEGIN))
            await send_and_wait(client, "hello")
            await server.db.write(lambda tx: tx.run("UPDATE events SET at = at - 120000"))
            assert (await client.get("/readyz")).json()["checks"]["feed"] == "degraded"
        await server.indexed()
        assert (await client.get("/readyz")).json()["checks"]["feed"] == "ok"


async def test_health_counts_the_lanes_of_the_asker(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    for text in ("hold health", "second", "third"):
        assert (await client.post("/api/runs", json={"message": text})).status_code == 202
    await server.agent.reached("health")
    health = (await client.get("/api/health")).json()
    assert health["lanes"] == {"busy": 1, "queued": 2, "stuck": 0}
    assert health["status"] == "ready"
    # What this server does not have is not reported.
    assert set(health) == {
        "status", "checks", "index", "lanes", "waiting", "gateways", "classifier", "storageError", "contextInjection",
        "followers", "database", "duties", "mcpServers",
    }  # fmt: skip
    assert {"engine", "schema", "sizeBytes"} == set(health["database"])
    assert [one["name"] for one in health["followers"]] == ["search"]
    elsewhere = (await other_client.get("/api/health")).json()
    assert elsewhere["lanes"] == {"busy": 0, "queued": 0, "stuck": 0}
    assert elsewhere["database"] is None
    server.agent.release("health")


async def test_health_counts_for_a_person_no_chat_of_another(server: HttpServer, client: httpx.AsyncClient) -> None:
    users = [(await client.post("/api/users", json={"name": name})).json()["user"]["id"] for name in ("Ada", "Bob")]
    ada, bob = [server.client(await server.token(client, kind="user", userId=user)) for user in users]
    async with ada, bob:
        for text in ("hold counted", "second"):
            body = {"message": text, "sessionKey": "agent:main:web:adas-own-chat"}
            (await ada.post("/api/runs", json=body)).raise_for_status()
        await server.agent.reached("counted")
        for caller, lanes in ((ada, (1, 1)), (bob, (0, 0)), (client, (1, 1))):
            shown = (await caller.get("/api/health")).json()["lanes"]
            assert (shown["busy"], shown["queued"]) == lanes
    server.agent.release("counted")


async def test_figures_are_open_on_this_machine_and_the_owner_s_from_afar(server: HttpServer) -> None:
    async with server.client(None) as near:
        # A request is counted once it is answered.
        await near.get("/healthz")
        text = (await near.get("/metrics")).text
    assert "# TYPE carrel_http_requests_count_total counter" in text
    async with server.client(None, **{"X-Forwarded-For": "192.0.2.1"}) as far:
        assert (await far.get("/metrics")).status_code == 401
    async with server.client(server.owner, **{"X-Forwarded-For": "192.0.2.1"}) as owner:
        assert (await owner.get("/metrics")).status_code == 200


async def test_figures_have_dotted_names_and_histograms_their_count(client: httpx.AsyncClient) -> None:
    # All tests of a process share the figures, and this one may run twice.
    port = client.base_url.port
    METRICS.observe("runs.wait.seconds", "", 0.2, provenance=f"test {port}")
    METRICS.count("test.count", "", 1_234_567, tool=f'a"b{port}')
    shown = (await client.get("/api/metrics")).json()["metrics"]
    waits = next(one for one in shown if one["labels"] == {"provenance": f"test {port}"})
    assert (waits["name"], waits["type"], waits["value"], waits["count"]) == ("runs.wait.seconds", "histogram", 0.2, 1)
    text = (await client.get("/metrics")).text
    assert f'carrel_test_count_total{{tool="a\\"b{port}"}} 1234567' in text
    assert f'carrel_runs_wait_seconds_bucket{{provenance="test {port}",le="+Inf"}} 1' in text
    assert f'carrel_runs_wait_seconds_sum{{provenance="test {port}"}} 0.2' in text


async def test_another_account_s_owner_sees_the_figures_of_its_own_lanes(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await client.post("/api/runs", json={"message": "hold figures"})
    await server.agent.reached("figures")
    mine = {one["name"]: one["value"] for one in (await client.get("/api/metrics")).json()["metrics"]}
    assert mine["runs.running"] == 1
    theirs = (await other_client.get("/api/metrics")).json()["metrics"]
    others = {one["name"]: one["value"] for one in theirs if one["name"] != "followers.lag.events"}
    assert others == {"classifier.pending": 0, "plan.mode.active.sessions": 0}
    server.agent.release("figures")


async def test_another_account_s_owner_sees_what_became_of_its_own_runs_and_of_no_others(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    async def ended(owner: httpx.AsyncClient) -> Counter[str]:
        shown = (await owner.get("/api/metrics")).json()["metrics"]
        summed: Counter[str] = Counter()
        for one in shown:
            if one["labels"].get("state") == "failed":
                summed[one["name"]] += one["value"]
            elif one["name"] == "runs.duration.seconds":
                summed[one["name"]] += one["count"]
        return summed

    # Figures belong to the process, and an earlier test in it may have had an account of the same id.
    before = await ended(other_client)
    await send_and_wait(client, "fail")
    assert await ended(other_client) == before
    await send_and_wait(other_client, "fail")
    names = ("runs.ended.count", "runs.duration.seconds")
    assert await ended(other_client) == {name: before[name] + 1 for name in names}
    both = await ended(client)
    assert both["runs.ended.count"] >= 2, "the operator sees the figures of the whole server"
    assert both["runs.duration.seconds"] >= 2


async def test_the_recorder_keeps_a_point_of_every_figure(server: HttpServer, client: httpx.AsyncClient) -> None:
    await client.post("/api/runs", json={"message": "hold recorded"})
    await server.agent.reached("recorded")
    recorder: Recorder = server.assembly.app.state.recorder
    await recorder.take()
    await recorder.take()
    shown = (
        await client.get("/api/metrics/history", params={"names": "runs.running, nothing", "minutes": 9999})
    ).json()
    assert [(one["name"], one["labels"]) for one in shown["series"]] == [("runs.running", {"agent": "main"})]
    # The server itself takes a point every minute, which may fall between.
    assert [value for _, value in shown["series"][0]["points"]][-2:] == [1.0, 1.0]
    assert len((await client.get("/api/metrics/history")).json()["series"]) > 1
    server.agent.release("recorded")


async def test_metrics_name_no_agent_of_another_account(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    for owner, agent in ((client, "mine-alone"), (other_client, "theirs-alone")):
        (await owner.post("/api/agents", json={"id": agent})).raise_for_status()
        await send_and_wait(owner, "hello", agentId=agent)
        await owner.post("/api/runs", json={"message": f"hold {agent}", "agentId": agent})
        await server.agent.reached(agent)
    await server.assembly.app.state.recorder.take()
    for path in ("/api/metrics", "/metrics", "/api/metrics/history"):
        mine, theirs = (await client.get(path)).text, (await other_client.get(path)).text
        assert "mine-alone" in mine, path
        assert "theirs-alone" not in mine, path
        if path != "/metrics":
            # On this machine /metrics is the operator's, whoever asks.
            assert "theirs-alone" in theirs, path
            assert "mine-alone" not in theirs, path
        assert "acc_" not in mine + theirs
    shown = (await client.get("/api/metrics")).json()["metrics"]
    running = {one["labels"]["agent"]: one["value"] for one in shown if one["name"] == "runs.running"}
    assert running == {"mine-alone": 1, "(other accounts)": 1}, "the server's figures are complete"
    for agent in ("mine-alone", "theirs-alone"):
        server.agent.release(agent)


async def test_the_recorder_goes_on_until_it_is_stopped(
    server: HttpServer, client: httpx.AsyncClient, elapsing: Elapsing
) -> None:
    recorder = Recorder(server.db, SystemClock())

    def points() -> int:
        return max((len(one.points) for one in recorder.series("", set(), 1)), default=0)

    async with asyncio.TaskGroup() as group:
        recording = group.create_task(recorder.record())
        # Time that is moved on may end a look at the store, which is then skipped; another follows.
        for _ in range(20):
            await elapsing.pass_by(60, lambda: client.get("/healthz"))
            if points() > 1:
                break
        recording.cancel()
    assert points() > 1


async def test_settings_are_shown_to_the_owner_of_the_default_account_alone(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    shown = (await client.get("/api/settings")).json()
    row = {"name": "server.port", "value": 8787, "default": 8787, "source": "default"}
    assert shown == {"file": "/nowhere/carrel.toml", "settings": [row]}
    assert (await other_client.get("/api/settings")).status_code == 403
    user = (await client.post("/api/users", json={"name": "Ada"})).json()["user"]
    async with server.client(await server.token(client, kind="user", userId=user["id"])) as person:
        assert (await person.get("/api/settings")).status_code == 403
        assert (await person.get("/api/metrics")).status_code == 403


async def test_the_operator_sees_every_duty_and_when_it_last_did_something(
    client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await client.post("/api/log", json={"type": "conversation", "content": "to be found"})
    await send_and_wait(client, "hello")
    duties = {duty["name"]: duty for duty in (await client.get("/api/health")).json()["duties"]}
    assert {"search", "schedules", "exchanges", "followups"} <= duties.keys()
    assert (duties["search"]["lastAt"] is not None, duties["search"]["failures"]) == (True, 0)
    assert (await other_client.get("/api/health")).json()["duties"] is None
