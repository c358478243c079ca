"""A running server as its person's other commands reach it: told to reload, asked for its servers and workers."""
