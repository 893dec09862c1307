"""The classifier: gives entries their topic, maybe a task, and a summary; with a model, or by rules alone."""
