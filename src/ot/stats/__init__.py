"""Statistics: what was called, how it went, and what it saved."""
