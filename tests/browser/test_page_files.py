"""The dashboard's files over HTTP: fresh, fingerprinted, under a strict policy. No browser needed."""

import httpx
import pytest
from starlette.applications import Starlette

from carrel.surfaces.dashboard import routes
from carrel.surfaces.dashboard.pages import STATIC


@pytest.fixture
def http() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=Starlette(routes=routes())), base_url="http://carrel")


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/", "/chat", "/chat/agent%3Amain%3Aweb%3Aa%2Fb"])
async def test_every_route_gives_the_page_and_asks_for_a_fresh_copy(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.anyio
async def test_the_policy_allows_our_own_files_alone(http: httpx.AsyncClient) -> None:
    policy = (await http.get("/")).headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.anyio
async def test_a_copy_that_still_holds_is_not_sent_again(http: httpx.AsyncClient) -> None:
    first = await http.get("/")
    again = await http.get("/", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert first.status_code == 200
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.anyio
async def test_a_file_whose_name_has_its_hash_is_kept_for_good(http: httpx.AsyncClient) -> None:
    for name in named_files():
        answer = await http.get(f"/static/{name}")
        assert answer.status_code == 200
        assert ("immutable" in answer.headers["cache-control"]) == name.startswith("assets/"), name


@pytest.mark.anyio
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
