"""All mutants."""

from tests.mutants.board import BOARD
from tests.mutants.budgets import BUDGETS
from tests.mutants.coding import CODING
from tests.mutants.connectors import CONNECTORS
from tests.mutants.edge import EDGE
from tests.mutants.engine import ENGINE
from tests.mutants.finding import FINDING
from tests.mutants.gateways import GATEWAYS
from tests.mutants.inbound import INBOUND
from tests.mutants.isolation import ISOLATION
from tests.mutants.loops import LOOPS
from tests.mutants.modes import MODES
from tests.mutants.outbox import OUTBOX
from tests.mutants.protocols import PROTOCOLS
from tests.mutants.rights import RIGHTS
from tests.mutants.sorting import SORTING
from tests.mutants.wall import WALL
from tests.mutants.work import WORK

MUTANTS = (
    *ENGINE, *RIGHTS, *WALL, *ISOLATION, *EDGE, *GATEWAYS, *PROTOCOLS, *WORK, *MODES, *BOARD, *OUTBOX, *SORTING, *FINDING,
    *CODING, *CONNECTORS, *BUDGETS, *LOOPS, *INBOUND,
)  # fmt: skip
