"""A running server as its person's other commands reach it: told to reload, asked for its servers and workers.

Each server has a socket in `state/running`, for this user alone, which takes one word and answers with one line. A
signal could not report what came of a reload, and a watched file would reload what is half written. It offers no more
than a run may ask of the `ot` pack.
"""
