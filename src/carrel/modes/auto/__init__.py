"""Auto mode: an agent works by itself on a task, one tick after another, until it is done or somebody stops it."""
