"""What is the same on both sides: what is said and answered, and how many tasks lie in which context and state."""

# About as long as what people say to an agent.
SAID = "Please look at the report of last week, write down what is missing and tell the others when it is done."
ANSWER = "Two figures are missing, the third is from another month; I wrote it down and told the others."
CONTEXTS = 1_000
# A turn in a context whose name ends so is held, until one in a context of the other ending is taken.
HELD = "-held"
RELEASING = "-releasing"
FAILED_EVERY = 10
FIRST_MS = 1_700_000_000_000


def state_of(number: int) -> str:
    """The state of the seeded task with that number."""
    return "TASK_STATE_FAILED" if number % FAILED_EVERY == 0 else "TASK_STATE_COMPLETED"


def status_time(number: int) -> int:
    """When it got there, in milliseconds."""
    return FIRST_MS + number * 10
