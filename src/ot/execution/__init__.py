"""Calls of tools: `ToolExecutor.call` is the only way to one, and `tool_executor` lists the steps in their order.

Each step is a small object in a file of its own; `steps` builds the list of a tool once, from what its calls need, so
that a tool that nobody guards, journals or audits passes few. The reasons for the order:

- `deny` comes before a call is answered from the journal; limits, flows and questions after it, since such an answer
  sends nothing anywhere. What was read is marked for the client as if the call had been made.
- That a call with side effects begins is written before it does. A call is never refused because the journal could not
  be written; the run then counts as not whole.

A tool is *async*, *isolated* (in a helper process, see `ot.isolate`) or *plain* (on a thread: it cannot be stopped,
and the answer says so). Its time limit is the smallest of the caller's, its own, and what is left of the run's.

Its *effect* is reads, idempotent or unknown: declared by a decorator in the source of a pack, hinted at by a server,
overridden by `packs.<pack>.reads`. Policy and the audit log do not believe a server's hint.

What a client has read and what a person agreed to is a `ClientMemory`: one for the client and one for the run. A flow
rule marks the client when a guarded call begins; a stored result keeps the marks of its writer and gives them to its
reader. For a tool that no rule names, none of it is looked at.

An error declares its facts as fields, and which of them are names; all others are treated as text that may hold
secrets. Only `wording` makes sentences of them. Work on each item of a large value (decoding, checking, redaction)
moves to a thread (`ot.tasks.large_values`).
"""
