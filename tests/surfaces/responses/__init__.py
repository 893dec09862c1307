"""Open Responses: what callers say, how it is answered, streamed and gone on from."""
