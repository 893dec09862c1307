"""What both sides share: the message and the reply, and the contexts and states of the tasks."""

# About as long as a typical message to an agent.
SAID = "Please look at the report of last week, write down what is missing and tell the others when it is done."
ANSWER = "Two figures are missing, the third is from another month; I wrote it down and told the others."
CONTEXTS = 1_000
# A turn in a context with the first suffix waits until one in a context with the second runs.
HELD = "-held"
RELEASING = "-releasing"
FAILED_EVERY = 10
FIRST_MS = 1_700_000_000_000


def state_of(number: int) -> str:
    """Return the state of the seeded task with that number."""
    return "TASK_STATE_FAILED" if number % FAILED_EVERY == 0 else "TASK_STATE_COMPLETED"


def status_time(number: int) -> int:
    """Return when it reached that state, in milliseconds."""
    return FIRST_MS + number * 10
