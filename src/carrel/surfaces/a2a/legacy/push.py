"""The body of a push notification in A2A 0.3: the whole task, as it was at the change that is reported."""

from msgspec import structs

from carrel.kernel import Access, iso
from carrel.runs import Run
from carrel.storage import Tx
from carrel.surfaces.a2a.legacy.jsonrpc import write_task
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.task_json import WORKING, Detail, task_json


def legacy_push(tx: Tx, access: Access, run: Run, change: int, at: int, update: Json) -> Json:
    """Return the task at a change, which `update` reports in the form of 1.0; its history is left to tasks/get."""
    # The reply is an artifact of its own, one change before the end.
    reply = run.reply if change >= run.changes - 1 else None
    task = task_json(tx, access, structs.replace(run, changes=change, reply=reply), Detail(history=0))
    # Artifacts are added while the agent works.
    status = update["statusUpdate"]["status"] if "statusUpdate" in update else {"state": WORKING, "timestamp": iso(at)}
    return write_task(task | {"status": status})
