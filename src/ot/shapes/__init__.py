"""Shapes: the types of what tools returned, learnt where a definition leaves its result open; never values.

A value is looked at once its caller has it: at most 250 places of it, the first 16 values of a tool and then the 32nd,
the 64th and so on. Merging is a semilattice (`shape`), so examples may come in any order and from several processes; a
key that once counts as data stays data. An entry counts for one digest of definition, server version and `json_text`.
"""
