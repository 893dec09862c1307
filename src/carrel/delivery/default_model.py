"""The model of an account: that of its default agent, used for work that belongs to no run."""

from collections.abc import Mapping

from carrel.agents import default_agent
from carrel.board import Model
from carrel.delivery.request import ANY_MODEL
from carrel.delivery.snapshot import Connection, connection_of
from carrel.kernel import Access, Refusal
from carrel.storage import Tx


def default_model(tx: Tx, access: Access, connections: Mapping[str, Connection]) -> Model | None:
    """Return the model of the account's default agent; None if it has none."""
    try:
        agent = default_agent(tx, access)
    except Refusal:
        return None
    connection = connection_of(connections, agent)
    if not connection.is_model:
        return None
    settings = connection.settings
    return Model(connection.gateway, agent.profile.model or settings.model or ANY_MODEL, settings.stream)
