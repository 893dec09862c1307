"""Push notification configs: only the task's caller manages them, and their URLs are checked."""

from typing import Any

import httpx
import pytest

from carrel.kernel import Refusal
from carrel.kernel.limits import WEBHOOK_SECRET_CHARS_MAX, WEBHOOK_URL_CHARS_MAX, WEBHOOKS_PER_RUN_MAX
from carrel.kernel.settings import A2aPushSettings, A2aSettings, Settings
from carrel.surfaces.a2a.push_configs import check_push_url
from tests.harness.server import HttpServer, open_http_server
from tests.requirements.mark import requirement

Json = dict[str, Any]
# An IP address needs no name server.
PUBLIC = "https://93.184.216.34/hook"
FULL = {"url": PUBLIC, "token": "t-1", "authentication": {"scheme": "Bearer", "credentials": "c-1"}}
METHODS = ("Create", "Get", "List", "Delete")


async def call(client: httpx.AsyncClient, method: str, params: Json, version: str = "1.0") -> Json:
    """Make a JSON-RPC call and return the response."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await client.post("/a2a/main", json=body, headers={"A2A-Version": version})
    found: Json = answer.json()
    return found


async def push(client: httpx.AsyncClient, verb: str, task_id: str, **more: Any) -> Json:
    plural = "s" if verb == "List" else ""
    return await call(client, f"{verb}TaskPushNotificationConfig{plural}", {"taskId": task_id, **more})


async def created(client: httpx.AsyncClient, task_id: str, **config: Any) -> Json:
    answer = await push(client, "Create", task_id, **config)
    made: Json = answer["result"]
    return made


async def ids(client: httpx.AsyncClient, task_id: str) -> list[str]:
    return [config["id"] for config in (await push(client, "List", task_id))["result"]["configs"]]


async def task(client: httpx.AsyncClient, text: str = "hello", **configuration: Any) -> str:
    message = {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}]}
    answer = await call(client, "SendMessage", {"message": message, "configuration": configuration})
    return str(answer["result"]["task"]["id"])


def refused(answer: Json) -> tuple[int, str | None]:
    """Return the code and field of a refusal."""
    error = answer["error"]
    return error["code"], error["data"][0]["metadata"].get("field")


@requirement("S1.push.config")
async def test_a_config_is_created_read_listed_replaced_and_deleted(on_either: httpx.AsyncClient) -> None:
    task_id = await task(on_either)
    assert await ids(on_either, task_id) == []
    first = await created(on_either, task_id, **FULL)
    assert first == FULL | {"id": first["id"], "taskId": task_id}
    second = await created(on_either, task_id, id="mine", url=PUBLIC)
    assert second == {"id": "mine", "taskId": task_id, "url": PUBLIC}
    assert (await push(on_either, "Get", task_id, id=first["id"]))["result"] == first
    assert sorted(await ids(on_either, task_id)) == sorted([first["id"], "mine"])
    replaced = await created(on_either, task_id, id="mine", url=f"{PUBLIC}/2", token="t-2")
    assert (await push(on_either, "Get", task_id, id="mine"))["result"] == replaced
    assert replaced["url"] == f"{PUBLIC}/2"
    for _ in range(2):
        assert (await push(on_either, "Delete", task_id, id="mine"))["result"] == {}
    assert await ids(on_either, task_id) == [first["id"]]
    assert refused(await push(on_either, "Get", task_id, id="mine"))[0] == -32001


@requirement("S1.push.config")
async def test_the_same_works_over_rest_and_in_0_3(client: httpx.AsyncClient) -> None:
    task_id = await task(client)
    path = f"/a2a/main/tasks/{task_id}/pushNotificationConfigs"
    made = (await client.post(path, json=FULL | {"id": "a"})).json()
    assert made == FULL | {"id": "a", "taskId": task_id}
    assert (await client.get(f"{path}/a")).json() == made
    assert (await client.get(path)).json() == {"configs": [made]}
    old = {"taskId": task_id, "pushNotificationConfig": {"id": "old", "url": PUBLIC}}
    answer = await call(client, "tasks/pushNotificationConfig/set", old, "0.3")
    assert answer["result"]["pushNotificationConfig"]["id"] == "old"
    answer = await call(client, "tasks/pushNotificationConfig/get", {"id": task_id}, "0.3")
    assert answer["result"]["pushNotificationConfig"]["id"] == "a"
    answer = await call(client, "tasks/pushNotificationConfig/list", {"id": task_id}, "0.3")
    assert [one["pushNotificationConfig"]["id"] for one in answer["result"]] == ["a", "old"]
    for webhook in ("a", "old", "old"):
        assert (await client.delete(f"{path}/{webhook}")).status_code == 200
    assert (await client.get(path)).json() == {"configs": []}
    assert (await client.get(f"{path}/a")).status_code == 404


@requirement("S1.push.config")
async def test_configs_are_listed_in_pages(client: httpx.AsyncClient) -> None:
    task_id = await task(client)
    names = sorted([f"w{n}" for n in range(5)] + ["Ä", "Z"])
    for name in reversed(names):
        await created(client, task_id, id=name, url=PUBLIC)
    seen: list[str] = []
    token = ""
    for _ in range(4):
        page = (await push(client, "List", task_id, pageSize=2, pageToken=token))["result"]
        seen += [config["id"] for config in page["configs"]]
        token = page.get("nextPageToken", "")
    assert (seen, token) == (names, "")
    assert refused(await push(client, "List", task_id, pageSize=-1)) == (-32602, "pageSize")


@requirement("S1.push.config")
async def test_configs_belong_to_the_tasks_caller_only(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    task_id = await task(client)
    await created(client, task_id, id="w", **FULL)
    token = await server.token(client, kind="client", agentIds=["main"])
    async with server.client(token) as program:
        for stranger in (program, other_client):
            for verb in METHODS:
                answer = await push(stranger, verb, task_id, id="w", url=PUBLIC)
                assert refused(answer)[0] == -32001, verb
    assert await ids(client, task_id) == ["w"]


@requirement("S1.push.config")
async def test_configs_survive_a_restart(store_url: str) -> None:
    async with open_http_server(store_url) as first, first.client() as client:
        task_id = await task(client)
        made = await created(client, task_id, **FULL)
        owner = first.owner
    async with open_http_server(store_url) as second, second.client(owner) as client:
        assert (await push(client, "Get", task_id, id=made["id"]))["result"] == made


@requirement("S1.push.config")
async def test_if_push_is_disabled_the_card_says_so_and_every_method_refuses(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(push=A2aPushSettings(enabled=False)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        card = (await client.get("/.well-known/agent-card.json")).json()
        assert not card["capabilities"].get("pushNotifications", False)
        task_id = await task(client)
        for verb in METHODS:
            assert refused(await push(client, verb, task_id, id="w", url=PUBLIC))[0] == -32003, verb
        answer = await client.post(f"/a2a/main/tasks/{task_id}/pushNotificationConfigs", json=FULL)
        assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (
            400,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        )


@requirement("S1.push.config")
async def test_if_push_is_disabled_a_message_with_a_config_is_refused_without_a_task(surface_url: str) -> None:
    without = Settings(a2a=A2aSettings(push=A2aPushSettings(enabled=False)))
    async with open_http_server(surface_url, settings=without) as server, server.client() as client:
        message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        configuration = {"taskPushNotificationConfig": FULL}
        answer = await call(client, "SendMessage", {"message": message, "configuration": configuration})
        assert refused(answer)[0] == -32003
        assert (await call(client, "ListTasks", {}))["result"]["totalSize"] == 0


@requirement("S1.push.config")
async def test_a_config_that_comes_with_a_repeated_message_is_created_once(
    client: httpx.AsyncClient,
) -> None:
    task_id, again = [await task(client, "again", taskPushNotificationConfig=FULL) for _ in range(2)]
    assert again == task_id
    (config,) = (await push(client, "List", task_id))["result"]["configs"]
    assert config == FULL | {"id": task_id, "taskId": task_id}


@requirement("S1.push.guard")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/hook",
        "http://localhost/hook",
        "http://10.0.0.1/hook",
        "http://[::1]/hook",
        "http://[fe80::1]/hook",
        "http://169.254.169.254/latest/meta-data",
        "http://metadata.google.internal/",
        "http://2130706433/",
        "ftp://93.184.216.34/hook",
        "https://user:secret@93.184.216.34/hook",
        "https:///hook",
        "hook",
        "https://93.184.216.34/a b",
        "https://93.184.216.34/\n",
        "https://93.184.216.34/ä",
        "https://93.184.216.34/" + "x" * WEBHOOK_URL_CHARS_MAX,
    ],
)
async def test_a_forbidden_url_is_refused_and_nothing_is_stored(client: httpx.AsyncClient, url: str) -> None:
    task_id = await task(client)
    answer = await push(client, "Create", task_id, url=url)
    assert refused(answer) == (-32602, "url")
    assert "secret" not in answer["error"]["message"]
    assert await ids(client, task_id) == []


@requirement("S1.push.guard")
async def test_a_message_with_a_forbidden_url_creates_no_task(client: httpx.AsyncClient) -> None:
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    webhook = {"url": "http://127.0.0.1:9/hook"}
    sent = {"message": message, "configuration": {"taskPushNotificationConfig": webhook}}
    assert refused(await call(client, "SendMessage", sent))[0] == -32602
    assert (await call(client, "ListTasks", {}))["result"]["totalSize"] == 0


@requirement("S1.push.guard")
async def test_host_names_are_resolved_before_they_are_accepted() -> None:
    async def inside(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "192.168.1.1"]

    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(Refusal) as caught:
        await check_push_url("https://receiver.example.com/", A2aPushSettings(), resolve=inside)
    assert caught.value.field == "url"
    # A host that cannot be resolved now is checked again at delivery.
    await check_push_url("https://receiver.example.com/", A2aPushSettings(), resolve=nowhere)
    await check_push_url("http://receiver.lan/", A2aPushSettings(allow_private_addresses=True), resolve=inside)


@requirement("S1.push.guard")
async def test_private_addresses_are_accepted_if_the_operator_allows_them(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(push=A2aPushSettings(allow_private_addresses=True)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        task_id = await task(client)
        for url in ("http://127.0.0.1:9/hook", "http://receiver.lan/hook"):
            assert (await created(client, task_id, url=url))["url"] == url
        for url in ("ftp://127.0.0.1/", "http://user:secret@127.0.0.1/"):
            assert refused(await push(client, "Create", task_id, url=url)) == (-32602, "url")


@requirement("S1.push.config")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"token": "two\r\nlines: 1"}, "token"),
        ({"token": "ä"}, "token"),
        ({"token": "x" * (WEBHOOK_SECRET_CHARS_MAX + 1)}, "token"),
        ({"authentication": {"scheme": "Bearer", "credentials": "a\nb"}}, "authentication.credentials"),
        ({"authentication": {"credentials": "c"}}, "authentication.scheme"),
        ({"authentication": {"scheme": "Two words", "credentials": "c"}}, "authentication.scheme"),
        ({"id": "x" * 1000}, "id"),
        ({"id": "a\u0000b"}, "id"),
    ],
)
async def test_values_that_no_header_or_path_can_carry_are_refused_with_their_field(
    client: httpx.AsyncClient, wrong: Json, field: str
) -> None:
    task_id = await task(client)
    assert refused(await push(client, "Create", task_id, **{"url": PUBLIC} | wrong)) == (-32602, field)
    assert await ids(client, task_id) == []


@requirement("S1.push.config")
async def test_the_number_of_configs_of_a_task_is_limited(client: httpx.AsyncClient) -> None:
    task_id = await task(client)
    for _ in range(WEBHOOKS_PER_RUN_MAX):
        await created(client, task_id, url=PUBLIC)
    assert refused(await push(client, "Create", task_id, url=PUBLIC))[0] == -32602
