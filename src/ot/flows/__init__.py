"""Flows by value: recognising, in the arguments of a call, what other calls have brought.

- `words` says which words are ordinary, and `traces` turns a value into what can be compared: its leaves, and the parts
  of longer texts that no dictionary has, whatever their spelling.
- `seen_values` is a client's memory of both kinds: what guarded calls brought, and what it knew before. It holds keyed
  digests, never text.
"""
