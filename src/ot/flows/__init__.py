"""Flows by value: recognising, in the arguments of a call, what other calls have brought.

- `traces` turns a value into what can be compared: its leaves, and of longer `texts` the parts that no dictionary has.
  `letters` is the one form in which all of that is written, and `words` says which words are ordinary.
- What a text may stand for is in `encodings`, `spellings` and `numbers`; `known` are the person's own values.
- `seen_values` is a client's memory of both kinds: what guarded calls brought, and what it knew before. It holds keyed
  digests, never text.
"""
