"""Goals and plans: why, and in what order."""
