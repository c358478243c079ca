"""The server over HTTP: uvicorn and the SDK's streamable transport, with limits that neither has.

- `connections` extends uvicorn's h11 connection, since uvicorn has no deadline for a request and does not count
  half-sent ones. A connection is a stranger until one of its requests has passed the token; only then does it take a
  client's place. A new stranger takes the oldest stranger's place, so strangers cannot keep clients out. When all
  places of clients are taken, the one idle longest is closed, else the answer is 503. The deadline runs while the rest
  of a request is awaited, never during an answer.
- `sessionless` answers a request without a session in the task in which it came, if nothing is wrong with it. Every
  other one is the SDK's, so that refusals are worded in one place.
- `GatheringTransport` sends an answer's head and body in one packet; each would wake the client.
- `OnceASecond` passes one log line of each kind per second for what strangers can cause.
- A socket in the file system (`listening`) is bound, given its mode and listened to while its folder is locked, so
  that two servers cannot both find it abandoned.
- Sessions (`gates`) live in one replica, whose name stands before their id (`SessionNames`).
- `server.build_routes` is the one place for other routes, each with its own rule of who may come.
"""
