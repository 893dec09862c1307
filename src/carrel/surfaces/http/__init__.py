"""What every surface shares:

- bodies: reading and decoding request bodies
- byte_budgets: how many bytes large requests and responses hold, in all and per caller
- openapi: how a surface describes its operations for the OpenAPI document
- errors: the HTTP status of every error code, and the error body
- services: Services, what main hands to every surface
- idempotency: answers kept under an idempotency key
- identity: who sends a request, by token, cookie or loopback address
- multipart: the one file in a multipart body
- responder: answers every request, even if something goes wrong
- response_limits: sending responses, within a budget and a time limit
- revocation: the end of a caller's rights ends its connections
- streaming: server-sent events
- tool_callers: who calls a tool, by token and session header
- websockets: messages and close codes of WebSockets
"""
