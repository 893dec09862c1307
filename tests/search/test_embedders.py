"""Embedders: the packaged ones, an endpoint, and what happens when it answers nonsense."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from carrel.kernel.limits import SEARCH_DIMENSIONS_MAX
from carrel.kernel.settings import SearchEndpointSettings, SearchSettings
from carrel.search import embedder_for
from carrel.search.embedders import EmbeddingUnavailable, embed_texts
from carrel.search.vectors import similarities, unit_query
from carrel.wire import Wire


@asynccontextmanager
async def endpoint(answer: Any, status: int = 200) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers every request alike; its address, and the bodies it was sent."""
    asked: list[dict[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r")[0])
        asked.append({"head": head, **json.loads(await reader.readexactly(length))})
        body = json.dumps(answer).encode()
        writer.write(b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (status, len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


@pytest.mark.parametrize("embedding", ["static", "minilm"])
async def test_packaged_embeddings_put_texts_that_mean_the_same_near_each_other(wire: Wire, embedding: Any) -> None:
    embedder = embedder_for(SearchSettings(embedding=embedding), wire)
    texts = ["The cat sleeps on the sofa", "Quarterly revenue grew by ten percent"]
    vectors = await embed_texts(embedder, texts, 6)
    assert {one.model for one in vectors} == {embedder.model}
    query = unit_query((await embedder.embed(["a kitten naps on the couch"]))[0])
    cat, revenue = similarities(query, [one.quantized for one in vectors])
    assert cat > revenue + 0.1


async def test_every_part_of_a_long_text_has_a_vector_up_to_a_limit(wire: Wire) -> None:
    embedder = embedder_for(SearchSettings(), wire)
    short, long, empty = await embed_texts(embedder, ["one", "many words " * 2_000, " \n"], 6)
    assert [len(one.quantized) // 256 for one in (short, long, empty)] == [1, 6, 0]
    assert [len(one.codes) // 32 for one in (short, long, empty)] == [1, 6, 0]


async def test_an_endpoint_is_asked_with_its_key_and_its_vectors_are_put_into_order(wire: Wire) -> None:
    answer = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}], "model": "m"}
    async with endpoint(answer) as (url, asked):
        chosen = SearchEndpointSettings(base_url=f"{url}/v1", api_key="secret", model="m")
        embedder = embedder_for(SearchSettings(embedding="endpoint", endpoint=chosen), wire)
        assert (await embedder.embed(["a", "b"])).tolist() == [[1, 0], [0, 1]]
        assert (embedder.model, asked[0]["input"], asked[0]["model"]) == ("m/2", ["a", "b"], "m")
        assert asked[0]["head"].startswith("post /v1/embeddings ")
        assert "authorization: bearer secret" in asked[0]["head"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"data": []}, 200),
        ({"data": [{"index": 0, "embedding": []}]}, 200),
        ({"data": [{"index": 0, "embedding": ["x"]}]}, 200),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}, 200),
        ({"data": [{"index": 0, "embedding": [1.0] * (SEARCH_DIMENSIONS_MAX + 1)}]}, 200),
        ({"data": [{"index": 0, "embedding": [1.0]}], "more": [0] * SEARCH_DIMENSIONS_MAX * 32}, 200),
        ({"error": "no"}, 500),
        ([], 200),
    ],
)
async def test_an_endpoint_that_answers_nonsense_is_not_available(wire: Wire, answer: Any, status: int) -> None:
    async with endpoint(answer, status) as (url, _):
        chosen = SearchEndpointSettings(base_url=url)
        embedder = embedder_for(SearchSettings(embedding="endpoint", endpoint=chosen), wire)
        with pytest.raises(EmbeddingUnavailable):
            await embedder.embed(["a"])


async def test_an_endpoint_that_is_not_there_is_not_available(wire: Wire) -> None:
    chosen = SearchEndpointSettings(base_url="http://127.0.0.1:1")
    with pytest.raises(EmbeddingUnavailable):
        await embedder_for(SearchSettings(embedding="endpoint", endpoint=chosen), wire).embed(["a"])


def test_signs_and_bytes_keep_what_is_near_near() -> None:
    from carrel.search.vectors import codes_of, vectors_of

    chance = np.random.default_rng(1)
    parts = chance.standard_normal((50, 100), dtype=np.float32)
    query = unit_query(parts[7] + 0.2 * chance.standard_normal(100, dtype=np.float32))
    stored = vectors_of("m/100", parts, [1] * len(parts))
    near = similarities(query, [one.quantized for one in stored])
    codes = np.concatenate([np.frombuffer(one.codes, dtype=np.uint64).reshape(1, -1) for one in stored])
    differing = np.bitwise_count(codes ^ codes_of(query.reshape(1, -1))[0]).sum(axis=1)
    assert int(np.argmax(near)) == int(np.argmin(differing)) == 7
    assert near[7] > 0.9
