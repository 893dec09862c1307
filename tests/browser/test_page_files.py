"""The dashboard's files over HTTP: fresh, fingerprinted, under a strict policy. No browser needed."""

from pathlib import Path

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
    first = await http.get("/static/js/main.js")
    again = await http.get("/static/js/main.js", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert first.status_code == 200
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/static/", "/static/nothing.js", "/static/../pages.py", "/static/%2e%2e/pages.py"])
async def test_nothing_outside_the_folder_is_served(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


def test_the_files_hold_no_inline_script_style_or_foreign_address() -> None:
    for file in files():
        text = file.read_text()
        assert "innerHTML" not in text, file
        assert "https://" not in text, file
        assert " style=" not in text, file
        assert " onclick=" not in text, file


def test_the_page_names_only_files_that_exist() -> None:
    page = (STATIC / "index.html").read_text()
    named = [part.split('"')[0] for part in page.split('"/static/')[1:]]
    assert len(named) >= 3
    assert [name for name in named if not (STATIC / name).is_file()] == []


def files() -> list[Path]:
    return [path for path in STATIC.rglob("*") if path.is_file()]
