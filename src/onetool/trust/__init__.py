"""Before a person trusts a project: a report on its files, and trial starts of what it brings."""
