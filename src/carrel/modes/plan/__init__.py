"""Plan mode: a session in which agents may look and plan, but change nothing until a person approves the plan."""
