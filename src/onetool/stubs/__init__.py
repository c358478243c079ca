"""Type stubs of every pack, for editors and type checkers."""
