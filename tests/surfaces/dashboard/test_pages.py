"""The dashboard's files over HTTP: fresh, fingerprinted, under a strict policy. No browser needed."""

import re

import httpx
import pytest
from starlette.applications import Starlette

from carrel.surfaces.dashboard import routes
from carrel.surfaces.dashboard.pages import PAGE_PATHS, STATIC


@pytest.fixture
def http() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=Starlette(routes=routes())), base_url="http://carrel")


@pytest.mark.parametrize("path", ["/", "/chat", "/chat/agent%3Amain%3Aweb%3Aa%2Fb"])
async def test_every_route_gives_the_page_and_asks_for_a_fresh_copy(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_policy_allows_our_own_files_alone(http: httpx.AsyncClient) -> None:
    policy = (await http.get("/")).headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


async def test_a_copy_that_still_holds_is_not_sent_again(http: httpx.AsyncClient) -> None:
    first = await http.get("/")
    again = await http.get("/", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert first.status_code == 200
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


async def test_a_file_whose_name_has_its_hash_is_kept_for_good(http: httpx.AsyncClient) -> None:
    for name in named_files():
        answer = await http.get(f"/static/{name}")
        assert answer.status_code == 200
        assert ("immutable" in answer.headers["cache-control"]) == name.startswith("assets/"), name


async def test_every_page_names_its_own_files_before_a_script_has_run(http: httpx.AsyncClient) -> None:
    for path in PAGE_PATHS:
        link = (await http.get(path.replace("{id:path}", "agent%3Amain%3Aweb%3Aa"))).headers["link"]
        files = re.findall(r"</(static/assets/[^>]+\.js)>; rel=modulepreload; crossorigin", link)
        assert files, path
        assert len(files) == link.count("<")
        assert [file for file in files if (await http.get(f"/{file}")).status_code != 200] == []
    context = await http.get("/runs/run_1/context")
    assert "assets/context-" in context.headers["link"]


async def test_a_file_is_compressed_for_those_who_take_that(http: httpx.AsyncClient) -> None:
    plain = await http.get("/", headers={"Accept-Encoding": "br, gzip;q=0"})
    assert "content-encoding" not in plain.headers
    packed = await http.get("/", headers={"Accept-Encoding": "deflate, gzip;q=0.5"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert packed.content == plain.content
    assert packed.headers["etag"] != plain.headers["etag"]
    again = await http.get("/", headers={"If-None-Match": packed.headers["etag"], "Accept-Encoding": "gzip"})
    assert again.status_code == 304


@pytest.mark.parametrize("path", ["/static/", "/static/nothing.js", "/static/../pages.py", "/static/%2e%2e/pages.py"])
async def test_nothing_outside_the_folder_is_served(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


def test_the_page_holds_no_inline_script_or_style_and_names_only_our_files() -> None:
    page = (STATIC / "index.html").read_text()
    assert "<script>" not in page
    assert "<style" not in page
    assert " style=" not in page
    assert "://" not in page
    assert len(named_files()) >= 3
    assert [name for name in named_files() if not (STATIC / name).is_file()] == []


def named_files() -> list[str]:
    page = (STATIC / "index.html").read_text()
    return [part.split('"')[0] for part in page.split('"/static/')[1:]]
