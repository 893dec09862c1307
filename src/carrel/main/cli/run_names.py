"""Runs as people name them: by id, by the beginning of one, or as `last`."""

from collections.abc import Callable
from typing import TypeVar

from carrel.bridge import Client, Refused
from carrel.main.cli.command import Exit, Failure, option

RUN = option("run_id", metavar="RUN", help="id of the run, cut to what is unique, or `last`")
_LOOKED_AT = 200
T = TypeVar("T")


def of_run(client: Client, name: str, act: Callable[[str], T]) -> T:
    """Do something with the run that was named: `act` is given its id. Only a name that is no id is looked up."""
    if name == "last":
        return act(_newest(client))
    try:
        return act(name)
    except Refused as fault:
        run_id = _completed(client, name) if fault.code == "not_found" else None
        if run_id is None:
            raise
    return act(run_id)


def _newest(client: Client) -> str:
    newest = client.get("/api/runs", {"limit": 1})["runs"]
    if not newest:
        raise Failure(Exit.FAILED, "There are no runs yet.")
    return str(newest[0]["id"])


def _completed(client: Client, name: str) -> str | None:
    """Return the run among the newest ones whose id begins so; None if there is none."""
    listed = [str(run["id"]) for run in client.get("/api/runs", {"limit": _LOOKED_AT})["runs"]]
    fitting = [run_id for run_id in listed if run_id.startswith((name, f"run_{name}"))]
    if len(fitting) > 1:
        raise Failure(Exit.FAILED, f"'{name}' is the beginning of {len(fitting)} runs; write more of it.")
    return fitting[0] if fitting else None
