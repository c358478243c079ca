"""The rooms of the pack `git`: a repository, git held to it, and what git says as values."""
