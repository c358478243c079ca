"""The run tool for a person at a terminal.

Completion looks at the registry at each Tab; unfinished code is scanned for strings and brackets only
(`completion`). Kernels share nothing: where code reads `_`, the last value is kept as `ot.keep` keeps it, and the
code begins by fetching it.
"""
