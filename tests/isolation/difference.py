"""What the judges of a world report."""

from dataclasses import dataclass

from tests.isolation.marks import Origin


@dataclass(frozen=True)
class Difference:
    """Something that was seen and may not be, or the other way round."""

    seed: int
    who: str
    door: str
    mark: str
    origin: Origin
    why: str
    asked: str = ""

    def __str__(self) -> str:
        asked = f" [{self.asked}]" if self.asked else ""
        return f"seed {self.seed} | {self.who} | {self.door} | {self.mark} {self.origin} | {self.why}{asked}"
