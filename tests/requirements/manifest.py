"""The behaviours the product promises, by id: a sentence for each, and why some of them are not built yet.

The sentences are in one module for each area. When you build a behaviour, move its line to BUILT in the same change as
its first test; test_manifest.py fails on an id of BUILT without a test and on a test of anything else. An id that also
speaks of parts which do not exist yet is in PARTIAL too, with what is still open.
"""

from tests.requirements import (
    a2a,
    board,
    coding,
    connectors,
    isolation,
    model_user,
    modes,
    product,
    session_tools,
    sessions,
    webhooks,
)

AREAS = (product, sessions, a2a, session_tools, modes, board, connectors, coding, isolation, model_user, webhooks)

BUILT = {name: sentence for area in AREAS for name, sentence in area.BUILT.items()}
# The sentence, and the reason why it does not hold yet.
DEFERRED = {
    name: (sentence, reason)
    for area in AREAS
    for reason, sentences in area.DEFERRED.items()
    for name, sentence in sentences.items()
}
# Of BUILT: what still has to be proved when the part it speaks of is built.
PARTIAL = {name: still_open for area in AREAS for name, still_open in area.PARTIAL.items()}


def explain(name: str) -> str:
    """Return the id with its sentence."""
    sentence = BUILT.get(name) or DEFERRED.get(name, ("no such requirement",))[0]
    still_open = f" Still open: {PARTIAL[name]}" if name in PARTIAL else ""
    return f"{name}: {sentence}{still_open}"
