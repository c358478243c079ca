"""The parts that an engine is put together from.

`App` lists them once: fronts use them, packs find them by type, a reload reaches them. `SharedParts` are opened once a
process and hold nothing of a person: the kernel supply, the backend of the store, definitions of built-in packs, rate
limits. Everything else is a person's own. A command that lists tools stops at `known_tools`, which loads two thirds of
the modules that a run needs; workers, helpers and servers are loaded by their first use.
"""
