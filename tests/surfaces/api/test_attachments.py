"""Attachments over HTTP: sent ahead, used in one message, read by who may read its task, and deleted when unused."""

from base64 import b64encode
from functools import partial
from hashlib import sha256

import httpx

from carrel.kernel.limits import ATTACHMENT_BYTES_MAX, UPLOADS_UNUSED_MAX
from carrel.records import prune_uploads
from carrel.storage import Tx
from carrel.work import actor_of
from tests.harness.server import HttpServer
from tests.surfaces.api.tasks.test_changes import ALL, agent, made
from tests.surfaces.api.tasks.test_reads import person, said, thread
from tests.surfaces.api_calls import Json, refused

FILES = "/api/attachments"
DAY_MS = 86_400_000


async def sent(client: httpx.AsyncClient, content: bytes = b"hello", name: str = "notes.txt") -> Json:
    """A file that was sent ahead."""
    answer = await client.post(FILES, files={"file": (name, content, "text/plain")})
    assert answer.status_code == 201, answer.text
    file: Json = answer.json()["attachment"]
    return file


async def test_a_file_is_sent_used_in_a_message_and_read(server: HttpServer, client: httpx.AsyncClient) -> None:
    content = bytes(range(256)) + b"\r\n--not-the-boundary\r\n\r\n"
    file = await sent(client, content, 'naïve "name";\n.txt')
    assert file == {
        "id": file["id"],
        "fileName": 'naïve "name"; .txt',
        "mimeType": "text/plain",
        "sizeBytes": len(content),
        "sha256": sha256(content).hexdigest(),
    }
    task = await made(client)
    posted = await said(client, task, "", attachmentIds=[file["id"]])
    assert posted["message"]["attachments"] == [file]
    assert (await thread(client, task))["messages"][0]["attachments"] == [file]
    got = await client.get(f"{FILES}/{file['id']}")
    assert (got.content, got.headers["content-type"].partition(";")[0]) == (content, "text/plain")
    assert got.headers["content-disposition"].startswith("attachment; filename*=UTF-8''na%C3%AFve")
    assert got.headers["x-content-type-options"] == "nosniff"
    again = await client.post(f"{ALL}/{task['id']}/messages", json={"content": "x", "attachmentIds": [file["id"]]})
    assert refused(again) == (400, "invalid_params", "attachmentIds")


async def test_a_file_is_its_senders_until_it_is_in_a_thread(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    await agent(client, "limited", spaceIds=["space-elsewhere"])
    task, (_, ada) = await made(client), await person(server, client, "ada")
    limited = server.client(await server.token(client, kind="agent", agentId="limited"))
    async with ada, limited:
        file = await sent(ada)
        path, message = f"{FILES}/{file['id']}", {"content": "x", "attachmentIds": [file["id"]]}
        assert (await ada.get(path)).status_code == 200
        for other in (client, limited, other_client):
            assert refused(await other.get(path))[:2] == (404, "not_found")
        assert refused(await client.post(f"{ALL}/{task['id']}/messages", json=message))[2] == "attachmentIds"
        await said(ada, task, "look", attachmentIds=[file["id"]])
        assert (await client.get(path)).content == b"hello"
        for other in (limited, other_client):
            assert refused(await other.get(path))[:2] == (404, "not_found")
        assert refused(await limited.post(FILES, files={"file": b"x"}))[:2] == (403, "forbidden")


async def test_what_is_no_single_file_is_refused(client: httpx.AsyncClient) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    head = b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n'
    for content in (b"", b"--b--", b"--b\r\n\r\nx\r\n--b--", head + b"x", head + b"x\r\n" + head + b"y\r\n--b--\r\n",
                    head.replace(b'"file"', b'"other"') + b"x\r\n--b--", head.replace(b"\r\n\r\n", b"") + b"\r\n--b--",
                    b"--b\r\nX: " + b"x" * 9000 + b"\r\n\r\n\r\n--b--"):  # fmt: skip
        assert refused(await client.post(FILES, content=content, headers=kind)) == (400, "invalid_params", "file")
    unnamed = {"Content-Type": "multipart/form-data"}
    assert refused(await client.post(FILES, content=head, headers=unnamed)) == (400, "invalid_params", "file")
    assert refused(await client.post(FILES, json={}))[:2] == (415, "unsupported_media_type")
    large = b"x" * (ATTACHMENT_BYTES_MAX + 1)
    assert refused(await client.post(FILES, files={"file": large}))[:2] == (413, "too_large")
    plain = await client.post(FILES, content=head + b"x\r\n--b--\r\n", headers=kind)
    file = plain.json()["attachment"]
    assert (file["fileName"], file["mimeType"], file["sizeBytes"]) == ("file", "application/octet-stream", 1)


async def test_a_repeated_upload_is_kept_once(client: httpx.AsyncClient) -> None:
    key = {"X-Idempotency-Key": "once"}
    first, again = [await client.post(FILES, files={"file": b"same"}, headers=key) for _ in range(2)]
    assert first.json() == again.json()
    other = await client.post(FILES, files={"file": b"other"}, headers=key)
    assert refused(other)[:2] == (409, "idempotency_mismatch")


async def test_files_that_no_message_uses_are_bounded_and_deleted(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    task = await made(client)
    used, unused = await sent(client), await sent(client)
    await said(client, task, "x", attachmentIds=[used["id"]])
    access = await server.access_of()
    assert await server.db.write(partial(prune_uploads, access=access)) == 0

    def age(tx: Tx) -> int:
        tx.run("UPDATE uploads SET made_at = made_at - :day", day=DAY_MS + 1)
        return prune_uploads(tx, access)

    assert await server.db.write(age) == 1
    assert (await client.get(f"{FILES}/{unused['id']}")).status_code == 404
    assert (await client.get(f"{FILES}/{used['id']}")).status_code == 200

    def fill(tx: Tx) -> None:
        for number in range(UPLOADS_UNUSED_MAX):
            values = {"id": f"att_{number}", "account_id": access.account_id, "now": tx.now}
            tx.run(
                "INSERT INTO attachments (account_id, id, name, mime_type, size_bytes, sha256, content, created_at) "
                "VALUES (:account_id, :id, 'x', 'x/x', 0, '', :content, :now)",
                content=b"", **values,
            )  # fmt: skip
            tx.run(
                "INSERT INTO uploads (account_id, attachment_id, made_by, made_at) "
                "VALUES (:account_id, :id, :made_by, :now)", made_by=actor_of(tx, access).party_id, **values,
            )  # fmt: skip

    await server.db.write(fill)
    assert refused(await client.post(FILES, files={"file": b"x"}))[:2] == (422, "limit_reached")
    person = (await client.post("/api/users", json={"name": "Ann"})).json()["user"]["id"]
    async with server.client(await server.token(client, kind="user", userId=person)) as ann:
        assert (await ann.post(FILES, files={"file": b"x"})).status_code == 201, "her own files are counted"


async def test_a_file_of_a_chat_is_read_by_whoever_may_read_the_chat(
    server: HttpServer, client: httpx.AsyncClient, other_client: httpx.AsyncClient
) -> None:
    (_, ada), (_, ben) = await person(server, client, "ada"), await person(server, client, "ben")
    sheet = {"name": "sheet.csv", "mimeType": "text/csv", "dataBase64": b64encode(b"a,b").decode()}
    async with ada, ben:
        run = (await ada.post("/api/chat", json={"text": "read this", "attachments": [sheet]})).json()["runId"]
        await ada.get(f"/api/runs/{run}/wait", params={"timeoutSeconds": 20})
        (file,) = (await ada.get(f"/api/runs/{run}")).json()["run"]["message"]["attachments"]
        got = await ada.get(f"{FILES}/{file['id']}")
        assert (got.status_code, got.content) == (200, b"a,b")
        assert (await client.get(f"{FILES}/{file['id']}")).content == b"a,b", "the owner sees every chat"
        assert (await ben.get(f"{FILES}/{file['id']}")).status_code == 404
        assert (await other_client.get(f"{FILES}/{file['id']}")).status_code == 404
