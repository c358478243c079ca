"""The db pack: where databases are, what may be asked of them, and one module for each engine."""
