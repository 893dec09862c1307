"""All mutants."""

from tests.mutants.board import BOARD
from tests.mutants.edge import EDGE
from tests.mutants.engine import ENGINE
from tests.mutants.gateways import GATEWAYS
from tests.mutants.modes import MODES
from tests.mutants.protocols import PROTOCOLS
from tests.mutants.rights import RIGHTS
from tests.mutants.wall import WALL
from tests.mutants.work import WORK

MUTANTS = (*ENGINE, *RIGHTS, *WALL, *EDGE, *GATEWAYS, *PROTOCOLS, *WORK, *MODES, *BOARD)
