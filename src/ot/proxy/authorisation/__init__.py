"""Logging in to servers that ask for it: OAuth, the page a browser returns to, and where tokens are kept."""
