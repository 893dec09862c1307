"""How near texts are to one another in meaning, with what was embedded before at hand."""

from collections import OrderedDict
from collections.abc import Sequence

from carrel.kernel.limits import NEARNESS_TEXTS_KEPT, SEARCH_CHUNK_CHARS
from carrel.search.embedders import Embedder, EmbeddingUnavailable
from carrel.search.vectors import Floats, unit_query


class Nearness:
    """Compares texts; one for each process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, Floats] = OrderedDict()

    async def of(self, text: str, others: Sequence[str]) -> list[float]:
        """Return how near each of the others is to a text, up to 1; nothing while texts cannot be embedded."""
        if not text.strip() or not others:
            return []
        try:
            asked, *known = await self._vectors([text, *others])
        except EmbeddingUnavailable:
            return []
        return [float(asked @ vector) for vector in known]

    async def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        cut = [text[:SEARCH_CHUNK_CHARS].encode("utf-8", "replace").decode() for text in texts]
        # The model is a part of the name: vectors of two models cannot be compared.
        names = [f"{self._embedder.model}\n{text}" for text in cut]
        missing = {name: text for name, text in zip(names, cut, strict=True) if name not in self._kept}
        if missing:
            vectors = await self._embedder.embed(list(missing.values()))
            self._kept.update((name, unit_query(vector)) for name, vector in zip(missing, vectors, strict=True))
        found = [self._kept[name] for name in names]
        while len(self._kept) > NEARNESS_TEXTS_KEPT:
            self._kept.popitem(last=False)
        return found
