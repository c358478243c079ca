"""Where the time goes: `make profile` prints what the start, the hot path and each process of a run take.

A profile explains a figure of `make bench` and has no target. Each is a file with a function that returns a `Table`.
"""
