"""Chat Completions: steps and answers in the dialect that most model servers speak."""
