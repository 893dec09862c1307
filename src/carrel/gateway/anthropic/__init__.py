"""The Anthropic Messages API: steps and answers in its dialect."""
