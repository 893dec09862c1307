"""How similar texts are in meaning, with embeddings cached."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from carrel.kernel.limits import SEARCH_CHUNK_CHARS, SIMILARITY_TEXTS_KEPT
from carrel.search.embedders import Embedder, EmbeddingUnavailable
from carrel.search.vectors import Floats, unit_query

# A few texts have no meaningful average of their own: these are about arbitrary subjects.
_REFERENCE = (
    "house kitchen garden furniture", "software server database error", "flight hotel train holiday",
    "invoice bank tax payment", "doctor medicine health sleep", "music film book concert", "school children teacher",
    "running football training match", "meeting customer contract office", "dog cat bird animal", "bread soup recipe",
    "car bicycle engine road", "wedding birthday party gift", "weather rain mountain sea",
    "phone printer camera screen",
    "Wohnung Haus Umzug Möbel", "Rechnung Steuer Vertrag Versicherung", "Schule Kinder Arzt Termin",
    "Auto Fahrrad Werkstatt Reise", "Konzert Verein Buch Rezept",
)  # fmt: skip


class Similarity:
    """Compares texts; one for each process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, Floats] = OrderedDict()

    async def of(self, text: str, others: Sequence[str]) -> list[float]:
        """Return how similar each of the others is to a text, -1 to 1; nothing while texts cannot be embedded.

        What all of them have in common is subtracted: only differences count.
        """
        if not text.strip() or not others:
            return []
        try:
            asked, *known = await self._apart([text, *others], others)
        except EmbeddingUnavailable:
            return []
        return [float(asked @ vector) for vector in known]

    async def directions(self, texts: Sequence[str]) -> Floats | None:
        """Return the direction of each text relative to the average of all; None while texts cannot be embedded.

        The product of two directions is the similarity of their texts. A text without meaning is similar to none.
        """
        try:
            apart = await self._apart(texts, texts)
        except EmbeddingUnavailable:
            return None
        apart[[not text.strip() for text in texts]] = 0.0
        return apart

    async def _apart(self, texts: Sequence[str], among: Sequence[str]) -> Floats:
        """The directions of texts relative to the average of those they are compared with."""
        middle = np.mean(await self._vectors([*_REFERENCE, *dict.fromkeys(filter(str.strip, among))]), axis=0)
        apart = np.array(await self._vectors(texts)) - middle
        directions: Floats = (apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)).astype(np.float32)
        return directions

    async def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        cut = [text[:SEARCH_CHUNK_CHARS].encode("utf-8", "replace").decode() for text in texts]
        # The model is part of the key: vectors of two models cannot be compared.
        names = [f"{self._embedder.model}\n{text}" for text in cut]
        missing = {name: text for name, text in zip(names, cut, strict=True) if name not in self._kept}
        if missing:
            vectors = await self._embedder.embed(list(missing.values()))
            self._kept.update((name, unit_query(vector)) for name, vector in zip(missing, vectors, strict=True))
        found = [self._kept[name] for name in names]
        while len(self._kept) > SIMILARITY_TEXTS_KEPT:
            self._kept.popitem(last=False)
        return found
