"""The audit log: what was called with effect, by whom, what allowed it, and how it ended."""
