"""A pack from an OpenAPI description: one typed function for each operation, in a file that a person can read.

Text of a description becomes only literals and docstrings, names become identifiers, and what is written is parsed
again and must have exactly the intended functions. References become TypedDicts by name, so they may be circular.
"""
