"""Tools and packs: what is known of each before anything is called, and under which name.

Built-in packs and extensions are read from their syntax tree (`from_source`), servers' tools from what they list
(`from_schema`). Definitions of built-in packs are cached as JSON, since parsing them took 70 ms of each start.

- Names are assigned in one place (`names`, `places`): to the project's packs, the person's, servers, then the built-in
  ones, which move to `<name>_builtin`. Collisions are recorded. Policy for a name that a tool had to give up still
  applies to that tool. `packs.NAME.enabled` is applied there too.
- Every tool of a server that has a name can be called. Its schema is copied within limits and brought into one form
  (`schema_parameters`); one that cannot be understood accepts anything, and is recorded as a problem.
- A schema that lists properties and does not mention others allows no others. JSON Schema says otherwise, but a
  misspelt keyword that a server silently drops costs a model more than an undeclared parameter.
- Names become identifiers by the set of names, not their order. Policy is asked with every name of a tool.
- Two signatures: the one shown writes out the keys of objects, which is not Python; `python_signature` is plain.
- A pack reaches parts of the engine by type: `current().part(Health)`. Extensions cannot.
"""
