"""The audit log: calls with side effects, who made them, what allowed it, and how it ended."""
