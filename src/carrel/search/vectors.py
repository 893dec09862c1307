"""Meanings as numbers: vectors of unit length, stored as bytes, and the signs of their parts for fast comparison.

A vector of 256 numbers takes 256 bytes in the store, and 32 in memory.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Codes = NDArray[np.uint64]
_SCALE = 127
_BITS = 64


class Vectors(Struct, frozen=True):
    """The meaning of one document: a vector for each of its parts, and the model they come from."""

    model: str
    quantized: bytes
    codes: bytes


NO_VECTORS = Vectors("", b"", b"")


def vectors_of(model: str, parts: Floats, counts: Sequence[int]) -> list[Vectors]:
    """Return the vectors of documents as they are stored, from all parts and the number of parts of each."""
    unit = _unit(parts)
    quantized, codes = np.rint(unit * _SCALE).astype(np.int8), codes_of(unit)
    bounds = [slice(end - count, end) for end, count in zip(accumulate(counts), counts, strict=True)]
    return [Vectors(model, quantized[own].tobytes(), codes[own].tobytes()) for own in bounds]


def codes_of(parts: Floats) -> Codes:
    """Return the signs of each vector's numbers, 64 to an integer."""
    words = -(-parts.shape[1] // _BITS)
    bits = np.zeros((len(parts), words * _BITS), dtype=np.uint8)
    bits[:, : parts.shape[1]] = parts > 0
    return np.packbits(bits, axis=1).view(np.uint64)


def code_width(model: str) -> int:
    """Return how many integers the code of a vector has; a model's name ends in its dimensions: `static/256`."""
    return -(-int(model.rpartition("/")[2] or 0) // _BITS)


def similarities(query: Floats, quantized: list[bytes]) -> list[float]:
    """Return how near the nearest part of each document is to a query, 0 to 1; all vectors have its length."""
    if not quantized:
        return []
    parts = np.frombuffer(b"".join(quantized), dtype=np.int8).reshape(-1, len(query)).astype(np.float32)
    counts = np.array([len(one) // len(query) for one in quantized])
    nearest = np.maximum.reduceat(parts @ query / _SCALE, np.cumsum(counts) - counts)
    return [float(one) for one in np.clip(nearest, 0, 1)]


def unit_query(vector: Floats) -> Floats:
    """Return the vector of a query at unit length."""
    unit: Floats = _unit(vector.reshape(1, -1))[0]
    return unit


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(norms, 1e-9)).astype(np.float32)
    return unit
