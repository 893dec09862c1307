"""The tools for tasks. The room `work` decides; a tool reads its parameters and returns the outcome."""
