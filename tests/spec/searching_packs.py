"""The source of a pack that specified examples use: a search engine."""

from __future__ import annotations

BRAVE = '''
"""A search engine."""

pack = "brave"


async def search(*, query: str, count: int = 1) -> str:
    """Search with brave.

    Only public pages are known to it.

    Args:
        query: What to look for.
        count: How many results.

    Returns:
        Titles and addresses.

    Example:
        brave.search(query="rust", count=3)
    """
    return query


async def web_search(*, query: str) -> str:
    """Search the web for pages."""
    return query
'''
