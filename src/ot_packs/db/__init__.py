"""The db pack: where databases are, what may be asked of them, and one module for each engine.

A read-only transaction is not read-only, so a statement passes a tree of reading nodes, a list of functions that reach
out of the database, and the engine's own mode. A helper that writes a file gets that file alone (`written_file`): what
SQLite keeps beside it is made before, and DuckDB finds the file mounted in the helper's own folder.
"""
