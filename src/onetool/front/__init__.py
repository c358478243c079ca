"""The front: commands of MCP clients reach the engine here.

At stdin and stdout `PipeFront` (`pipes`) reads each line once (`messages`). It answers the plain messages itself:
`initialize`, `server/discover`, `ping`, `tools/list`, `tools/call` of `run`, `logging/setLevel`, cancellation, and
lists, from memory, of what servers have beside tools. It also sends progress, log lines and requests to the client.
Everything else goes to the SDK (`sdk_session`, `server`, `tool_run`, `contents`, `watching`), which is loaded by the
first such line and told how the client introduced itself; a client that begins with the SDK stays with it. The same
readers serve requests without a session over HTTP (`onetool.http.sessionless`). Where spans are sent to a collector,
the SDK answers everything, since it makes the spans of requests.

A plain answer equals the SDK's; tests compare both over recorded conversations (docs/decisions/0003).

`initialize` is answered before the engine exists (`late_app`): the zygote is started first, the engine once the client
has its first answer. `tools/list` waits for the engine, because the description of `run` names the packs (`offer`).
They are named by what the registry knows without connecting anything, so the text stays the same while servers come
and go; clients are told only when it changes.

Clients that show views have one of an answer (`view`, `page`), and a tool for it that nobody else sees. Its data is in
the answer's `_meta` (`ot.run.shown_answer`); it is made only for such clients.

`commands` is the way of every command that is awaited, over HTTP or from the SDK: it finds the person's engine,
recalls what the client has read and agreed to, begins the run, and brings answers back to a run that waits, in another
replica if need be. It has the memory of each client: a connection, or all requests of a person without a session.
"""
