"""What all surfaces share: identity, errors, bodies, idempotency, streaming and WebSockets over HTTP."""
