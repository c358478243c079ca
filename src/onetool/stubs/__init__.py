"""Type stubs of every pack, for editors and type checkers: one module per pack, written from definitions.

Parameters are typed by their JSON Schema, results by a server's schema, the annotations of a source, or learnt shapes.
Of a server's text only identifiers, literals and docstrings get into a stub, and types are named through modules
imported under names that no tool has, since a tool may be called `list`. Files carry a mark: only marked ones are
replaced.
"""
